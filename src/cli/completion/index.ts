// `tenantry completion bash|zsh|fish`: prints a completion script generated from the command tree.
// Names of boxes, tenants, rollouts and hosts are read from the daemon when they are completed.

import { globalOptions } from '../first-page.ts'
import { type Command, command, type Noun, noun, type Tree } from '../kit/index.ts'
import { kindOf, kindOfOption, kinds, names } from './names.ts'

/** The `completion` noun for a command tree. */
export function completionOf(tree: () => Promise<Tree>): Noun {
  const verb = (shell: string, script: (tree: Tree) => string, place: string) =>
    command(shell, `Print the ${shell} completion script: ${place}`, {
      run: async () => script(await tree()),
      view: (output) => output,
      local: true,
    })
  return noun('completion', 'Shell completion scripts', [
    verb('bash', bashScript, 'source <(tenantry completion bash)'),
    verb('zsh', zshScript, 'source <(tenantry completion zsh)'),
    verb('fish', fishScript, 'tenantry completion fish | source'),
    names,
  ])
}

const globalFlags = Object.values(globalOptions)
  .flatMap(([flags]) => /--[a-z-]+/.exec(flags) ?? [])
  .filter((flag) => flag !== '--version')

const flagsOf = ({ options }: Command): string[] => [
  ...Object.values(options)
    .filter(({ hidden }) => !hidden)
    .map(({ flags }) => /--[a-z-]+/.exec(flags)?.[0] ?? ''),
  ...globalFlags,
]

/** Commands whose arguments are names of one kind, as one shell pattern each. */
const namedCommands = ({ nouns }: Tree): (readonly [pattern: string, kind: string])[] =>
  nouns.flatMap(({ name, verbs }) =>
    verbs.flatMap((verb) => {
      const kind = kindOf(name, verb)
      return kind === undefined ? [] : [[`${name} ${verb.name}`, kind] as const]
    }),
  )

const valued = ['--url', '--output', '--columns']

const firstWords = ({ nouns, alone }: Tree) => [...nouns, ...alone].map(({ name }) => name)

/** One `case` branch per noun and command; needs no bash-completion package. */
export function bashScript(tree: Tree): string {
  const nouns = tree.nouns.map(({ name, verbs }) => `    ${name}) words="${verbs.map((verb) => verb.name).join(' ')}" ;;`)
  const commands = [
    ...tree.nouns.flatMap(({ name, verbs }) => verbs.map((verb) => `    "${name} ${verb.name}") words="${flagsOf(verb).join(' ')}" ;;`)),
    ...tree.alone.map((command) => `    "${command.name} "*) words="${flagsOf(command).join(' ')}" ;;`),
  ]
  const named = namedCommands(tree).map(([pattern, kind]) => `        "${pattern}") kind=${kind} ;;`)
  const optionKinds = kinds.map((kind) => `    ${kindOfOption[kind].join('|')}) kind=${kind} ;;`)
  return `_tenantry() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words="" kind=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${firstWords(tree).join(' ')} ${globalFlags.join(' ')}"
  elif [ "$COMP_CWORD" -eq 2 ] && [[ "$current" != -* ]]; then
    case "\${COMP_WORDS[1]}" in
${nouns.join('\n')}
    esac
  else
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${commands.join('\n')}
    esac
    if [[ "$current" != -* ]]; then
      case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${named.join('\n')}
      esac
    fi
  fi
  case "$previous" in
${optionKinds.join('\n')}
  esac
  if [ -n "$kind" ]; then words="$(tenantry completion names "$kind" 2>/dev/null)"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _tenantry tenantry`
}

/** Words with summaries for zsh; quotes are escaped. */
const described = (pairs: readonly Readonly<{ name: string; summary: string }>[]) =>
  pairs.map(({ name, summary }) => `'${name}:${summary.replace(/'/g, "'\\''")}'`).join(' ')

export function zshScript(tree: Tree): string {
  const nouns = tree.nouns.map(({ name, verbs }) => `      ${name}) choices=(${described(verbs)}) ;;`)
  const commands = [
    ...tree.nouns.flatMap(({ name, verbs }) =>
      verbs.map((verb) => `      '${name} ${verb.name}') choices=(${flagsOf(verb).join(' ')}) ;;`),
    ),
    ...tree.alone.map((command) => `      '${command.name} '*) choices=(${flagsOf(command).join(' ')}) ;;`),
  ]
  const named = namedCommands(tree).map(([pattern, kind]) => `        '${pattern}') kind=${kind} ;;`)
  const optionKinds = kinds.map((kind) => `      ${kindOfOption[kind].join('|')}) kind=${kind} ;;`)
  return `#compdef tenantry
_tenantry() {
  local -a choices
  if (( CURRENT == 2 )); then
    choices=(${described([...tree.nouns, ...tree.alone])})
    _describe command choices
  elif (( CURRENT == 3 )) && [[ $PREFIX != -* ]]; then
    case $words[2] in
${nouns.join('\n')}
    esac
    _describe command choices
  else
    case "$words[2] $words[3]" in
${commands.join('\n')}
    esac
    local kind=""
    if [[ $PREFIX != -* ]]; then
      case "$words[2] $words[3]" in
${named.join('\n')}
      esac
    fi
    case "$words[CURRENT-1]" in
${optionKinds.join('\n')}
    esac
    if [[ -n $kind ]]; then choices=(\${(f)"$(tenantry completion names $kind 2>/dev/null)"}); fi
    compadd -- $choices || _files
  fi
}
compdef _tenantry tenantry`
}

export function fishScript(tree: Tree): string {
  const quoted = (text: string) => `'${text.replace(/'/g, "\\'")}'`
  const first = [...tree.nouns, ...tree.alone].map(
    ({ name, summary }) => `complete -c tenantry -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
  )
  const verbs = tree.nouns.flatMap(({ name, verbs }) => {
    const names = verbs.map((verb) => verb.name).join(' ')
    const seen = `__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${names}`
    return verbs.map((verb) => `complete -c tenantry -f -n ${quoted(seen)} -a ${verb.name} -d ${quoted(verb.summary)}`)
  })
  const namesAfter = (flag: string) => {
    const kind = kinds.find((one) => kindOfOption[one].includes(flag))
    return kind && ` -x -a ${quoted(`(tenantry completion names ${kind} 2>/dev/null)`)}`
  }
  const flagLines = (seen: string, command: Command) =>
    Object.values(command.options).map(({ flags, summary }) => {
      const name = /--([a-z-]+)/.exec(flags)?.[1] ?? ''
      return `complete -c tenantry -n ${quoted(seen)} -l ${name}${namesAfter(`--${name}`) ?? (flags.includes('<') ? ' -r' : '')} -d ${quoted(summary)}`
    })
  const flags = [
    ...tree.nouns.flatMap(({ name, verbs }) =>
      verbs.flatMap((verb) => flagLines(`__fish_seen_subcommand_from ${name}; and __fish_seen_subcommand_from ${verb.name}`, verb)),
    ),
    ...tree.alone.flatMap((command) => flagLines(`__fish_seen_subcommand_from ${command.name}`, command)),
  ]
  const everywhere = globalFlags.map((flag) => `complete -c tenantry -l ${flag.slice(2)}${valued.includes(flag) ? ' -r' : ''}`)
  const named = namedCommands(tree).map(([pattern, kind]) => {
    const [noun, verb] = pattern.split(' ')
    const seen = `__fish_seen_subcommand_from ${noun}; and __fish_seen_subcommand_from ${verb}`
    return `complete -c tenantry -f -n ${quoted(seen)} -a ${quoted(`(tenantry completion names ${kind} 2>/dev/null)`)}`
  })
  return [...first, ...verbs, ...flags, ...named, ...everywhere].join('\n')
}
