"use strict";
// Keeps every script error on the page, where a test (or a reader who reports one) finds it.
(function () {
  const errors = [];
  function keep(message) {
    errors.push(String(message));
    document.body.dataset.scriptErrors = JSON.stringify(errors);
  }
  window.addEventListener("error", (event) => keep(event.message || "a resource did not load"), true);
  window.addEventListener("unhandledrejection", (event) => keep(event.reason));
  window.addEventListener("securitypolicyviolation", (event) => keep("refused: " + event.blockedURI));
})();
