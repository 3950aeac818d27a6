# An MCP server of one tool, for a machine on which oneiros is not installed. Shell builtins alone.

serve_install_tool() {
    # what JSON allows in a string as an escape alone; a class such as [:cntrl:] holds more, and not the same everywhere
    controls=$(printf '\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37')
    case $1 in
    *[\"\\\']*) # a path that would need quoting twice
        pipx="pipx install 'oneiros[offline]'"
        uv="uv tool install 'oneiros[offline]'"
        ;;
    *)
        # With the hash of every file that the program needs. pipx hands what it is to install before to pip as it is.
        locked=$1/lib/requirements.txt
        package=oneiros
        [ ! -f "${1%/*}/pyproject.toml" ] || package=${1%/*}
        pipx="pipx install '--preinstall=-r$locked' '$package[offline]'"
        uv="uv tool install --constraints '$locked' '$package[offline]'"
        ;;
    esac
    told="oneiros is not installed on this machine, so there is no memory to ask. Tell the person to run one of these in a"
    told="$told terminal: $pipx   or   $uv   then: oneiros init   and to start Claude Code again. If it is installed"
    told="$told somewhere unusual, the plugin setting program_folder names that folder by its absolute path."
    tool='{"name":"install_oneiros","description":"The memory oneiros is not installed here. Says how to install it.",'
    tool=$tool'"inputSchema":{"type":"object","properties":{},"additionalProperties":false},'
    tool=$tool'"annotations":{"readOnlyHint":true}}'
    while IFS= read -r line || [ -n "$line" ]; do
        answer_line "$line"
    done
}

answer_line() {
    case $1 in
    *[!\ ]*) ;;
    *) return 0 ;;
    esac
    if ! read_message "$1"; then
        printf '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this line is no request"}}\n'
        return
    fi
    [ -n "$id" ] || return 0 # a notification
    case $method in
    initialize)
        case $version in
        2025-06-18 | 2025-03-26 | 2024-11-05) ;;
        *) version=2025-11-25 ;;
        esac
        result="{\"protocolVersion\":\"$version\",\"capabilities\":{\"tools\":{}},"
        result="$result\"serverInfo\":{\"name\":\"oneiros\",\"version\":\"0\"}}"
        ;;
    ping) result='{}' ;;
    tools/list) result="{\"tools\":[$tool]}" ;;
    tools/call)
        case $name in
        install_oneiros) result="{\"content\":[{\"type\":\"text\",\"text\":\"$told\"}]}" ;;
        *) result='{"content":[]}' ;; # a hook: nothing to say
        esac
        ;;
    *)
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id"
        return
        ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
}

# read_message LINE: sets `id` as it stands there (a string or an integer, empty where there is none), `method`, and of
# the parameters `name` and `version`. False where the line is no request. The shell splits it at its quotes: what stands
# between two of them is a string and a joint in turn, unless the string ends in an escape.
read_message() {
    id= method= name= version=
    depth=0 key= text= is_string= is_value=
    case $1 in
    \{*) ;;
    *) return 1 ;;
    esac
    IFS_before=$IFS
    IFS='"'
    set -f
    set -- $1
    set +f
    IFS=$IFS_before
    for part; do
        if [ -z "$is_string" ]; then
            read_joint "$part" || return 1
            text= is_string=yes
            continue
        fi
        [ "$depth" -gt 2 ] || text=$text$part
        if is_escaping "$part"; then
            [ "$depth" -gt 2 ] || text=$text\"
            continue
        fi
        is_string=
        if [ -n "$is_value" ]; then
            note_string || return 1
        fi
    done
    [ "$depth" = 0 ]
}

# is_escaping PART: whether the quote behind a piece of a string belongs to the string.
is_escaping() {
    end=$1
    while :; do
        case $end in
        *\\\\) end=${end%??} ;;
        *\\) return 0 ;;
        *) return 1 ;;
        esac
    done
}

# read_joint TEXT: colons, commas, brackets, and values that are no strings. False for an id that is not an integer.
read_joint() {
    joint=$1
    is_value=
    while [ -n "$joint" ]; do
        case $joint in
        :*)
            key=$text
            is_value=yes
            if [ "$depth:$key" = 1:id ]; then
                note_number "${joint#:}" || return 1
            fi
            ;;
        [\{\[]*) depth=$((depth + 1)) is_value= ;;
        [\}\]]*) depth=$((depth - 1)) is_value= ;;
        ,*) is_value= ;;
        esac
        joint=${joint#?}
    done
}

note_number() {
    number=${1%%[,\}]*}
    number=${number#"${number%%[!	 ]*}"}
    number=${number%"${number##*[!	 ]}"}
    [ -n "$number" ] || return 0 # a string follows
    case ${number#-} in
    *[!0-9]* | '' | 0?*) return 1 ;;
    esac
    id=$number
}

# note_string: keeps what is asked for. False for an id that could not stand in an answer.
note_string() {
    case $depth:$key in
    1:id)
        id=\"$text\"
        case $text in
        *["$controls"]*) return 1 ;;
        esac
        while :; do
            case $text in
            *\\*) text=${text#*\\} ;;
            *) return 0 ;;
            esac
            case $text in
            [\"\\/bfnrt]*) text=${text#?} ;;
            u[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]*) ;;
            *) return 1 ;;
            esac
        done
        ;;
    1:method) method=$text ;;
    2:name) name=$text ;;
    2:protocolVersion) version=$text ;;
    esac
}
