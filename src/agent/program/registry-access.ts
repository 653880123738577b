import { type BoxCommandKind, boxCommands, type CommandSecrets } from '../../core/boxes/index.ts'
import type { KnownMirrors } from '../boxes/index.ts'
import type { CommandContext, CommandExecutors, ContainerEngine, PullOptions } from '../ports/index.ts'

type AnyExecutor = (context: CommandContext, payload: never) => Promise<unknown>

/**
 * How this host pulls: by which mirrors and as whom belongs to the host and not to a box, so whichever command in hand may fetch it does,
 * when something must be pulled and not before. It is kept for that command's time, in memory.
 */
export type RegistryAccess = Readonly<{
  /** The same engine, which asks and pulls as the host's registries want it. Throws what the daemon says when they cannot be fetched. */
  pulling(engine: ContainerEngine): ContainerEngine
  /** The same executors; those whose kind may have registries offer what their command can fetch while they run. */
  offering(executors: CommandExecutors): CommandExecutors
}>

export function registryAccess(mirrors: Pick<KnownMirrors, 'note'>): RegistryAccess {
  const sources = new Set<() => Promise<CommandSecrets>>()
  const offering = (kind: BoxCommandKind, execute: AnyExecutor): AnyExecutor => {
    const wanted: readonly string[] = boxCommands[kind].secrets
    if (!wanted.includes('registries')) return execute
    return async (context, payload) => {
      let fetched: Promise<CommandSecrets> | undefined
      const source = () => {
        fetched ??= context.secrets().catch((error) => {
          fetched = undefined // the next pull asks again
          throw error
        })
        return fetched
      }
      sources.add(source)
      try {
        return await execute(context, payload)
      } finally {
        sources.delete(source)
      }
    }
  }
  const asTheyWant = async <Options extends object>(options: Options) => {
    const { registries } = await firstOf([...sources].reverse())
    return registries ? { ...options, registries } : options
  }
  return {
    pulling: (engine) => ({
      ...engine,
      pull: async (image, options) => {
        const wanted = await asTheyWant<PullOptions>(options)
        // What is not noted only takes room for longer.
        if (wanted.registries) await mirrors.note(wanted.registries).catch(() => undefined)
        return engine.pull(image, wanted)
      },
      resolve: async (image, options) => engine.resolve(image, await asTheyWant(options)),
    }),
    offering: (executors) =>
      Object.fromEntries(
        Object.entries(executors).map(([kind, execute]) => [kind, offering(kind as BoxCommandKind, execute as AnyExecutor)]),
      ) as CommandExecutors,
  }
}

/** A command that was lost meanwhile must not keep another from pulling. */
async function firstOf(sources: readonly (() => Promise<CommandSecrets>)[]): Promise<CommandSecrets> {
  let failure: unknown
  for (const source of sources) {
    try {
      return await source()
    } catch (error) {
      failure ??= error
    }
  }
  if (failure) throw failure
  return {}
}
