// `tenantry completion bash|zsh|fish`: prints a completion script generated from the command tree.
// It never calls a daemon.
import { type Command, command, type Noun, noun, type Tree } from '../kit/index.ts'

/** The `completion` noun for a command tree. */
export function completionOf(tree: () => Promise<Tree>): Noun {
  const verb = (shell: string, script: (tree: Tree) => string, place: string) =>
    command(
      shell,
      `Print the ${shell} completion script: ${place}`,
      {},
      async () => script(await tree()),
      (output) => output,
      { local: true },
    )
  return noun('completion', 'Shell completion scripts', [
    verb('bash', bashScript, 'source <(tenantry completion bash)'),
    verb('zsh', zshScript, 'source <(tenantry completion zsh)'),
    verb('fish', fishScript, 'tenantry completion fish | source'),
  ])
}

const globalFlags = ['--url', '--json', '--yes', '--no-color', '--help']

const flagsOf = ({ options }: Command): string[] => [
  ...Object.values(options).map(({ flags }) => /--[a-z-]+/.exec(flags)?.[0] ?? ''),
  ...globalFlags,
]

const firstWords = ({ nouns, alone }: Tree) => [...nouns, ...alone].map(({ name }) => name)

/** One `case` branch per noun and command; needs no bash-completion package. */
export function bashScript(tree: Tree): string {
  const nouns = tree.nouns.map(({ name, verbs }) => `    ${name}) words="${verbs.map((verb) => verb.name).join(' ')}" ;;`)
  const commands = [
    ...tree.nouns.flatMap(({ name, verbs }) => verbs.map((verb) => `    "${name} ${verb.name}") words="${flagsOf(verb).join(' ')}" ;;`)),
    ...tree.alone.map((command) => `    "${command.name} "*) words="${flagsOf(command).join(' ')}" ;;`),
  ]
  return `_tenantry() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
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
  fi
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
  const flagLines = (seen: string, command: Command) =>
    Object.values(command.options).map(({ flags, summary }) => {
      const name = /--([a-z-]+)/.exec(flags)?.[1] ?? ''
      return `complete -c tenantry -n ${quoted(seen)} -l ${name}${flags.includes('<') ? ' -r' : ''} -d ${quoted(summary)}`
    })
  const flags = [
    ...tree.nouns.flatMap(({ name, verbs }) =>
      verbs.flatMap((verb) => flagLines(`__fish_seen_subcommand_from ${name}; and __fish_seen_subcommand_from ${verb.name}`, verb)),
    ),
    ...tree.alone.flatMap((command) => flagLines(`__fish_seen_subcommand_from ${command.name}`, command)),
  ]
  const everywhere = globalFlags.map((flag) => `complete -c tenantry -l ${flag.slice(2)}${flag === '--url' ? ' -r' : ''}`)
  return [...first, ...verbs, ...flags, ...everywhere].join('\n')
}
