# Completion of memwatchd for fish.
function __memwatchd_names
    set -l words (commandline -opc)
    set -l raw (commandline -ct)
    # What is typed without its quoting, even if a quotation mark is still open.
    set -l typed (string unescape -- $raw)
    or set typed (string unescape -- "$raw'")
    or set typed (string unescape -- "$raw\"")
    set -l program memwatchd
    string match -q '*/*' -- $words[1]; and set program (string replace -r '^~/' "$HOME/" -- $words[1])
    # An argument as --flag=value: names are of what stands behind it.
    set -l flag (string match -r -- '^-[^=]*=' "$typed")
    set -l lines ($program __complete $words[2..-1] "$typed" 2>/dev/null)
    or return
    set -l directive (string replace ':' '' -- $lines[-1])
    set -e lines[-1]
    if test (math "floor($directive / 8) % 2") = 1
        for ending in $lines
            __fish_complete_suffix "$typed" .$ending
        end
    else if test (math "floor($directive / 16) % 2") = 1
        __fish_complete_directories "$typed" ''
    else if test (math "$directive % 2") = 0 -a (math "floor($directive / 4) % 2") = 0 -a (count $lines) = 0
        __fish_complete_path "$typed"
    else
        string replace -r -- '^' "$flag" $lines
    end
end
complete -c memwatchd -e
complete -c memwatchd -f -k -a '(__memwatchd_names)'
