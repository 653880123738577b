import { isFinal } from '../../core/hosts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { type Command, commandById } from './command.repo.ts'
import type { CommandBus } from './command-bus.ts'

type Deps = Readonly<{ db: DbOrTx; clock: Clock; bus: CommandBus }>

/** The command as soon as it is final, or as it stands when the signal aborts. Throws NOT_FOUND. */
export async function awaitCommand({ db, bus }: Omit<Deps, 'clock'>, id: string, signal: AbortSignal): Promise<Command> {
  for (;;) {
    const command = await commandById(db, id)
    if (isFinal(command.status) || signal.aborted) return command
    await changeOf({ bus }, command, signal)
  }
}

/** The command once it is not at the revision `seen` any more, is final, or `waitMs` are over. Throws NOT_FOUND. */
export async function awaitChange(
  { db, clock, bus }: Deps,
  { id, seen, waitMs }: { id: string; seen?: number | undefined; waitMs: number },
  signal: AbortSignal,
): Promise<Command> {
  const command = await commandById(db, id)
  const known = seen ?? command.revision
  if (waitMs === 0 || isFinal(command.status) || command.revision !== known) return command
  const ends = new AbortController()
  const either = AbortSignal.any([ends.signal, signal])
  void clock.sleep(waitMs, either).then(() => ends.abort())
  await changeOf({ bus }, command, either)
  ends.abort()
  return commandById(db, id)
}

// A change between the read and this wait is caught by the bus's look at the database, a second later at most.
async function changeOf({ bus }: Pick<Deps, 'bus'>, { id, revision }: Command, signal: AbortSignal): Promise<void> {
  const change = bus.untilChanged(id, revision)
  let end = (): void => undefined
  const aborted = new Promise<void>((resolve) => {
    end = resolve
  })
  signal.addEventListener('abort', end)
  if (!signal.aborted) await Promise.race([change.woken, aborted])
  signal.removeEventListener('abort', end)
  change.cancel()
}
