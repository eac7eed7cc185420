# Completion of memwatchd for bash.

# The words of a text without their quoting, and the quotation mark that is open.
# xargs expands nothing.
_memwatchd_words()
{
    local word
    words=()
    for open in '' "'" '"'; do
        xargs printf '' <<<"$1$open" 2>/dev/null && break
    done
    while IFS= read -r -d '' word; do
        words+=("$word")
    done < <(xargs printf '%s\0' <<<"$1$open" 2>/dev/null)
}
# A text in the quoting of the place where it is inserted.
_memwatchd_quote()
{
    reply=$1
    case $open in
        "'") reply=${reply//\'/\'\\\'\'} ;;
        '"')
            reply=${reply//\\/\\\\} reply=${reply//\"/\\\"}
            reply=${reply//\$/\\\$} reply=${reply//\`/\\\`}
            reply=${reply//!/\"\'!\'\"} # of the history, also in quotation marks
            ;;
        *) printf -v reply %q "$reply" ;;
    esac
}
_memwatchd()
{
    local program=memwatchd typed part head flag='' name open reply directive=0 IFS=$' \t\n'
    local -a words names
    case $1 in
        */*) program=${1/#\~\//$HOME/} ;;
    esac
    COMPREPLY=()
    # Bash replaces the part of the word after the last colon, equals sign or
    # quotation mark: $2, which has its quoting if no mark is open.
    _memwatchd_words "x$2"
    part=${words[0]#x}
    _memwatchd_words "${COMP_LINE:0:COMP_POINT}x"
    [[ $open ]] && part=$2
    typed=${words[${#words[@]}-1]%x}
    head=${typed%"$part"}
    unset "words[${#words[@]}-1]"
    if [[ ${words[${#words[@]}-1]} == *[\<\>] || $typed == *[\<\>]* ]]; then # a file to redirect to
        compopt -o default 2>/dev/null
        return
    fi
    case $typed in
        -*=*) flag=${typed%%=*}= ;; # the names complete its value
    esac
    while IFS= read -r name; do
        case $name in
            :[0-9]*) directive=${name#:} ;;
            *) names+=("$flag${name%%$'\t'*}") ;;
        esac
    done < <("$program" __complete "${words[@]:1}" "$typed" 2>/dev/null)
    if (( directive & 16 )); then
        compopt -o dirnames 2>/dev/null
    elif (( directive & 8 || !(directive & 5) && !${#names[@]} )); then
        compopt -o default 2>/dev/null
    fi
    (( directive & 8 )) && names=()
    (( directive & 2 )) && compopt -o nospace 2>/dev/null
    (( directive & 32 )) && compopt -o nosort 2>/dev/null
    for name in "${names[@]}"; do
        if [[ $name == "$typed"* ]]; then
            _memwatchd_quote "${name#"$head"}"
            COMPREPLY+=("$reply")
        fi
    done
    # Names that contain the text, or begin with it in another case, replace the word.
    if [[ -z $head && ${#COMPREPLY[@]} == 0 ]]; then
        for name in "${names[@]}"; do
            _memwatchd_quote "$name"
            COMPREPLY+=("$reply")
        done
    fi
}
complete -F _memwatchd memwatchd
