# Completion of ovs-mtu's commands, options and bridges in bash.

_ovs_mtu () {
    local cur=${COMP_WORDS[COMP_CWORD]} word command= words

    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
        show | check | report | probe) command=${command:-$word} ;;
        esac
    done
    local ssl="--private-key= --certificate= --ca-cert= --help"
    case $command,$cur in
    ,*) words="show check report probe --help --version" ;;
    show,-*) words="--db= --format= --timeout= $ssl" ;;
    check,-*) words="--db= --southbound= --format= --timeout= --since="
              words+=" --watch= $ssl" ;;
    report,-*) words="--db= --southbound= --timeout= --since= --watch="
               words+=" --output= $ssl" ;;
    probe,-*) words="--db= --southbound= --format= --timeout= --size="
              words+=" --packets= --seconds= --via= $ssl" ;;
    report,* | probe,*) words= ;;
    *) words=$(ovs-vsctl --no-wait list-br 2>/dev/null) ;;
    esac
    case ${COMP_WORDS[COMP_CWORD-1]},$cur in
    --format,=) cur= words="text json prometheus" ;;
    =,*) [[ ${COMP_WORDS[COMP_CWORD-2]} != --format ]] ||
         words="text json prometheus" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -o default -F _ovs_mtu ovs-mtu
