# Runs what find.sh found. A console script begins with modules that the hook itself does not need and that cost more
# than all it does; so where the script's first line names a Python, that one is asked for the hook directly.

run_hook() {
    IFS= read -r first <"$found"
    python=${first#"#!"}
    case $python in
    /*python*) ;;
    *) python= ;;
    esac
    case $python in
    *" "* | "") "$found" "$@" 2>/dev/null ;;
    *) "$python" -I -c 'from oneiros.light.hook import run; run()' "$@" 2>/dev/null ;;
    esac
}
