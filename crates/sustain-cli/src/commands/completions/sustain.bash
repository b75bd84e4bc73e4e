
# bash takes "--engine=l" and "sim:machine.toml" for several words. Here they are one again.
_sustain_words() {
    local IFS=$' \t\n' line="${COMP_LINE:0:COMP_POINT}" list="" reply words last cur
    read -ra words <<< "${line}"
    [[ "${line}" == *[[:space:]] ]] && words+=("")
    last=$((${#words[@]} - 1))
    if [[ "${words[last]}" == --*=* ]]; then
        words+=("${words[last]#*=}")
        words[last]="${words[last]%%=*}"
        last=$((last + 1))
    fi
    # In a list, what follows the last comma is completed.
    if [[ "${words[last - 1]}" == --* && "${words[last]}" == *,* ]]; then
        list="${words[last]%,*},"
        words[last]="${words[last]##*,}"
    fi
    cur="${words[last]}"
    COMPREPLY=()
    if [[ "${cur}" == sim:* ]]; then
        local before=""
        # bash replaces only what follows the last colon, unless colons are not special to it.
        [[ "${COMP_WORDBREAKS}" == *:* ]] && before="${cur%"${cur##*:}"}"
        while IFS= read -r reply; do
            COMPREPLY+=("${reply#"${before}"}")
        done < <(sustain completions --targets "${cur}" 2> /dev/null)
        compopt -o nospace 2> /dev/null
        return
    fi
    COMP_WORDS=("${words[@]}")
    COMP_CWORD="${last}"
    _sustain sustain "${cur}" "${words[last - 1]}"
    # Where no flag is begun, flags are left out, so that targets are completed as files.
    local all=("${COMPREPLY[@]}")
    COMPREPLY=()
    for reply in "${all[@]}"; do
        [[ "${reply}" == -* && "${cur}" != -* ]] || COMPREPLY+=("${list}${reply}")
    done
}
