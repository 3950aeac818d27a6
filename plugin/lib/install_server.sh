# An MCP server of one tool, for a machine on which oneiros is not installed. Shell builtins alone.

serve_install_tool() {
    package=oneiros
    checkout=${1%/*}
    case $checkout in
    *[\"\\\']*) ;; # would need quoting twice
    *) [ -f "$checkout/pyproject.toml" ] && package=$checkout ;;
    esac
    pipx="pipx install '$package[offline]'"
    uv="uv tool install '$package[offline]'"
    told="oneiros is not installed on this machine, so there is no memory to ask. Tell the person to run one of these in a"
    told="$told terminal: $pipx   or   $uv   then: oneiros init   and to start Claude Code again. If it is installed"
    told="$told somewhere unusual, the plugin setting program_folder names that folder."
    tool='{"name":"install_oneiros","description":"The memory oneiros is not installed here. Says how to install it.",'
    tool=$tool'"inputSchema":{"type":"object","properties":{},"additionalProperties":false},'
    tool=$tool'"annotations":{"readOnlyHint":true}}'
    while IFS= read -r line || [ -n "$line" ]; do
        answer_line "$line"
    done
}

answer_line() {
    case $1 in
    *'"id":'*) ;;
    *) return ;; # a notification
    esac
    id=${1##*'"id":'}
    id=${id# }
    case $id in
    \"*) id=${id#\"} && id=\"${id%%\"*}\" ;;
    *) id=${id%%[!0-9-]*} ;;
    esac
    case $1 in
    *'"method":"initialize"'* | *'"method": "initialize"'*)
        version=2025-11-25
        case $1 in
        *'"protocolVersion":"2025-06-18"'* | *'"protocolVersion": "2025-06-18"'*) version=2025-06-18 ;;
        *'"protocolVersion":"2025-03-26"'* | *'"protocolVersion": "2025-03-26"'*) version=2025-03-26 ;;
        *'"protocolVersion":"2024-11-05"'* | *'"protocolVersion": "2024-11-05"'*) version=2024-11-05 ;;
        esac
        result="{\"protocolVersion\":\"$version\",\"capabilities\":{\"tools\":{}},"
        result="$result\"serverInfo\":{\"name\":\"oneiros\",\"version\":\"0\"}}"
        ;;
    *'"method":"ping"'* | *'"method": "ping"'*) result='{}' ;;
    *'"method":"tools/list"'* | *'"method": "tools/list"'*) result="{\"tools\":[$tool]}" ;;
    *'"method":"tools/call"'* | *'"method": "tools/call"'*)
        case $1 in
        *'"name":"install_oneiros"'* | *'"name": "install_oneiros"'*)
            result="{\"content\":[{\"type\":\"text\",\"text\":\"$told\"}]}" ;;
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
