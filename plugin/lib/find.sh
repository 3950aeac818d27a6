# Finds the installed programs of oneiros. Sourced by the scripts in bin/; uses nothing but the shell itself, so that it
# works with an empty PATH and costs a hook no process.

# Settings of the plugin, as the client hands them to hooks and, by .mcp.json, to the server.
if [ -n "${CLAUDE_PLUGIN_OPTION_MEMORY_ROOT:-}" ]; then
    ONEIROS_ROOT=$CLAUDE_PLUGIN_OPTION_MEMORY_ROOT
    export ONEIROS_ROOT
fi

# find_program NAME OWN_FOLDER: sets `found` to the program's path; false where there is none. Relative entries of PATH
# are passed over, since a repository must not bring programs of its own; so is the plugin's bin/, which the client puts
# on PATH. For the same reason the setting counts as an absolute path alone.
find_program() {
    own=${2%/}
    if [ -n "${CLAUDE_PLUGIN_OPTION_PROGRAM_FOLDER:-}" ]; then
        found=${CLAUDE_PLUGIN_OPTION_PROGRAM_FOLDER%/}/$1
        case $found in
        /*) [ -f "$found" ] && [ -x "$found" ] ;;
        *) false ;;
        esac
        return
    fi
    share=${XDG_DATA_HOME:-${HOME:-/nonexistent}/.local/share}
    places=${PATH:-}
    places=$places:${UV_TOOL_BIN_DIR:-}:${PIPX_BIN_DIR:-}:${XDG_BIN_HOME:-}:${HOME:-/nonexistent}/.local/bin
    places=$places:${UV_TOOL_DIR:-$share/uv/tools}/oneiros/bin
    places=$places:${PIPX_HOME:-$share/pipx}/venvs/oneiros/bin:${HOME:-/nonexistent}/.local/pipx/venvs/oneiros/bin
    places="$places:${HOME:-/nonexistent}/Library/Application Support/pipx/venvs/oneiros/bin"
    IFS_before=$IFS
    IFS=:
    set -f
    for place in $places; do
        case $place in
        /*) ;;
        *) continue ;;
        esac
        found=${place%/}/$1
        if [ "${place%/}" != "$own" ] && [ -f "$found" ] && [ -x "$found" ] && [ ! "$found" -ef "$own/$1" ]; then
            IFS=$IFS_before
            set +f
            return 0
        fi
    done
    IFS=$IFS_before
    set +f
    return 1
}
