//! A macro for the closed sets of the documents, so that each has the same derives and spelling.

/// Declares an enum whose values are written by their names in `snake_case`, in documents and in
/// words alike.
macro_rules! closed_set {
    ($(#[$attribute:meta])* pub enum $name:ident { $($body:tt)* }) => {
        $(#[$attribute])*
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            Hash,
            serde::Serialize,
            serde::Deserialize,
            schemars::JsonSchema,
            strum::Display,
            strum::EnumString,
            strum::IntoStaticStr,
        )]
        #[serde(rename_all = "snake_case")]
        #[strum(serialize_all = "snake_case")]
        pub enum $name { $($body)* }

        impl $name {
            /// Its name in documents.
            #[must_use]
            pub fn name(self) -> &'static str {
                self.into()
            }
        }
    };
}
