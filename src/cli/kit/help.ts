import type { Command as Commander, Help } from 'commander'
import type { Tree } from './command.ts'
import { padEnd } from './look.ts'

/** The first page: every noun with its verbs, so that nobody has to search. */
export function rootHelp(tree: Tree, root: Commander, helper: Help): string {
  const nouns = tree.nouns.map(({ name, verbs }) => [name, verbs.map((verb) => verb.name).join(' | ')] as const)
  const alone = tree.alone.map(({ name, summary }) => [name, summary] as const)
  const options = helper.visibleOptions(root).map((option) => [helper.optionTerm(option), helper.optionDescription(option)] as const)
  return [
    helper.commandDescription(root),
    '',
    'Usage: tenantry <noun> <verb> [options]',
    '',
    ...block('Nouns and verbs', nouns),
    ...block('Alone', alone),
    ...block('Options', options),
    'tenantry <noun> --help lists what a noun can do,',
    'tenantry <noun> <verb> --help shows its options.',
    '',
  ].join('\n')
}

function block(title: string, pairs: readonly (readonly [string, string])[]): string[] {
  const left = Math.max(...pairs.map(([name]) => name.length))
  return [`${title}:`, ...pairs.map(([name, what]) => `  ${padEnd(name, left)}  ${what}`), '']
}
