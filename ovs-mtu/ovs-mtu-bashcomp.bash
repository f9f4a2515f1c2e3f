# Completion of ovs-mtu's commands, options and bridges in bash.

_ovs_mtu () {
    local cur=${COMP_WORDS[COMP_CWORD]} word command= words

    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
        show | check | report | probe) command=${command:-$word} ;;
        esac
    done
    local more="--private-key= --certificate= --ca-cert= --help"
    case $command,$cur in
    ,*) words="show check report probe --help --version" ;;
    show,-*) words="--db= --format= --timeout= $more" ;;
    check,-*) words="--db= --southbound= --format= --timeout= --since="
              words+=" --watch= $more" ;;
    report,-*) words="--db= --southbound= --timeout= --since= --watch="
               words+=" --output= $more" ;;
    probe,-*) words="--db= --southbound= --format= --timeout= --size="
              words+=" --packets= --seconds= --via= $more" ;;
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
