# Completion of memwatchd for bash.
_memwatchd()
{
    local program=memwatchd reply option IFS=$' \t\n'
    case $1 in
        */*) program=${1/#\~\//$HOME/} ;;
    esac
    COMPREPLY=()
    while IFS= read -r reply; do
        COMPREPLY+=("$reply")
    done < <("$program" __bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" "$COMP_TYPE" "${COLUMNS:-80}" 2>/dev/null)
    # First comes what is to be done with the others.
    for option in ${COMPREPLY[0]}; do
        compopt -o "$option" 2>/dev/null
    done
    unset 'COMPREPLY[0]'
}
complete -F _memwatchd memwatchd
