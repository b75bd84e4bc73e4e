
_sustain_targets() {
    if [[ "$PREFIX" == sim:* ]]; then
        local -a names
        names=(${(f)"$(sustain completions --targets "$PREFIX" 2> /dev/null)"})
        compadd -S '' -a names
    else
        _files
    fi
}
