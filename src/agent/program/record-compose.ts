import type { BoxCommandKind } from '../../core/boxes/index.ts'
import type { ComposeRecord } from '../boxes/index.ts'
import type { CommandContext, CommandExecutors } from '../ports/index.ts'

/** Commands that may write a box's compose file. Adoption only reads it. */
const writing: ReadonlySet<BoxCommandKind> = new Set([
  'tenant-box.provision',
  'tenant-box.complete',
  'tenant-box.update',
  'tenant-box.restore',
  'tenant-box.take_over',
  'tenant-box.take_back',
])

type AnyExecutor = (context: CommandContext, payload: { slug: string }) => Promise<unknown>

/** The same executors; what they leave as compose file is known afterwards as the agent's own, and any other one as changed by hand. */
export function recordCompose(compose: ComposeRecord, executors: CommandExecutors): CommandExecutors {
  const recorded = Object.entries(executors).map(([kind, execute]) => {
    if (!writing.has(kind as BoxCommandKind)) return [kind, execute]
    const work: AnyExecutor = (context, payload) =>
      compose.around(payload.slug, context.commandId, () => (execute as AnyExecutor)(context, payload))
    return [kind, work]
  })
  return Object.fromEntries(recorded) as CommandExecutors
}
