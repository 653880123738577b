// `tenantry completion bash|zsh|fish`: completion written from the command tree; it asks no daemon.
import { command, type Noun, noun, type Tree } from '../kit/index.ts'
import { bashScript, fishScript, zshScript } from './scripts.ts'

/** The noun for a tree; the tree that it completes has it too. */
export function completionOf(tree: () => Promise<Tree>): Noun {
  const verb = (shell: string, script: (tree: Tree) => string, place: string) =>
    command(
      shell,
      `Completion for ${shell}: ${place}`,
      {},
      async () => script(await tree()),
      (text) => text,
      { local: true },
    )
  return noun('completion', 'Completion for a shell', [
    verb('bash', bashScript, 'source <(tenantry completion bash)'),
    verb('zsh', zshScript, 'source <(tenantry completion zsh)'),
    verb('fish', fishScript, 'tenantry completion fish | source'),
  ])
}
