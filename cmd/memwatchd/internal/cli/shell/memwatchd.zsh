#compdef memwatchd
# Completion of memwatchd for zsh.
_memwatchd() {
  local program=memwatchd typed=$PREFIX line directive=0
  local -a values lines space sorted columns
  # What is typed without its quoting; within quotation marks it has none.
  [[ -z $compstate[quote] ]] && typed=${(Q)PREFIX}
  [[ $words[1] == */* ]] && program=${${(Q)words[1]}/#\~\//$HOME/}
  # An argument as --flag=value: names are of what stands behind it.
  [[ $typed == -*=* ]] && compset -P 1 '*='
  for line in "${(@f)$("$program" __complete "${(@Q)words[2,CURRENT-1]}" "$typed" 2>/dev/null)}"; do
    if [[ $line == :<-> ]]; then
      directive=${line#:}
    elif [[ -n $line ]]; then
      values+=("${line%%$'\t'*}")
      if [[ $line == *$'\t'* ]]; then
        lines+=("${line%%$'\t'*}  -- ${line#*$'\t'}")
        columns=(-l) # one a line
      else
        lines+=("$line")
      fi
    fi
  done
  if (( directive & 8 )); then
    _files -g "*.(${(j:|:)values})"
  elif (( directive & 16 )); then
    _files -/
  elif (( ! (directive & 5) && ! $#values )); then
    _files
  else
    (( directive & 2 )) && space=(-S '')
    (( directive & 32 )) && sorted=(-V memwatchd)
    # They are what fits: begin with it, in this or another case, or have it somewhere.
    compadd "${space[@]}" $sorted $columns -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]} l:|=* r:|=*' -d lines -a values
  fi
}
# By itself in a directory of completions, it is called; else it says what it is for.
if [[ $funcstack[1] == _memwatchd ]]; then
  _memwatchd "$@"
else
  compdef _memwatchd memwatchd
fi
