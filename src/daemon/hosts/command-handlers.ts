import { boxCommands, type CommandSecrets } from '../../core/boxes/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { type Keyring, unseal } from '../sealed/index.ts'
import { type Command, commandsByIds } from './commands.repo.ts'
import type { BoxPort, CommandEnding, FailureHandlers, ResultHandlers } from './deps.ts'

import { registriesFor, sealedAt } from './registries.ts'

/** Another feature that reacts to the end of commands. */
export type CommandListener = Readonly<{ resultHandlers?: ResultHandlers; failureHandlers?: FailureHandlers }> &
  Partial<Pick<BoxPort, 'acceptOutputs'>>

/** Adds listeners to the handlers of a port; all are called in order, in the same transaction. */
export function composeHandlers(side: BoxPort, ...listeners: readonly CommandListener[]): BoxPort {
  const all = [side, ...listeners]
  return {
    ...side,
    resultHandlers: callAll(all.map(({ resultHandlers }) => resultHandlers)) as ResultHandlers,
    failureHandlers: callAll(all.map(({ failureHandlers }) => failureHandlers)) as FailureHandlers,
    acceptOutputs: async (tx, command, outputs) => {
      for (const one of all) await one.acceptOutputs?.(tx, command, outputs)
    },
  }
}

type AnyHandler = (tx: Tx, command: Command, end: never) => Promise<void>
type AnyHandlers = Readonly<Record<string, AnyHandler | undefined>>

function callAll(tables: readonly (object | undefined)[]): AnyHandlers {
  const present = tables.filter((table) => table !== undefined) as AnyHandlers[]
  const kinds = [...new Set(present.flatMap((table) => Object.keys(table)))]
  return Object.fromEntries(
    kinds.map((kind) => [
      kind,
      async (tx: Tx, command: Command, end: never) => {
        for (const table of present) await table[kind]?.(tx, command, end)
      },
    ]),
  )
}

const notifyOf =
  (ending: CommandEnding) =>
  async (tx: Tx, { failureHandlers }: CommandListener, ids: readonly string[]): Promise<void> => {
    for (const command of await commandsByIds(tx, ids)) await failureHandlers?.[command.kind]?.(tx, command, ending)
  }

/** Calls the failure handlers of expired commands. */
export const notifyFailures = notifyOf({ reported: false })

/** Calls the failure handlers of commands whose agent lost its state. */
export const notifyLost = notifyOf({ reported: false, lost: true })

type Part = (db: DbOrTx, command: Command) => Promise<CommandSecrets>

/** Collects the secrets that a command's kind declares; other providers are not called, so an unconfigured one cannot fail the call. */
export const secretsByKind =
  (parts: Readonly<Record<keyof CommandSecrets, Part>>): Part =>
  async (db, command) => {
    const names = boxCommands[command.kind].secrets
    return Object.assign({}, ...(await Promise.all(names.map((name) => parts[name](db, command)))))
  }

/** Mirrors and credentials for the command's host; host entries override entries for all hosts. Throws SEALED_UNREADABLE. */
export const registrySecrets =
  ({ keyring }: Readonly<{ keyring: Keyring }>): Part =>
  async (db, { hostId }) => {
    const entries = (await registriesFor(db, hostId)).sort((a, b) => Number(a.hostId !== null) - Number(b.hostId !== null))
    const registries = entries.map(({ id, registry, mirror, username, sealed }) => [
      registry,
      {
        ...(mirror === null ? {} : { mirror }),
        ...(username === null || sealed === null ? {} : { username, password: unseal(keyring, sealedAt(id), sealed).reveal() }),
      },
    ])
    return registries.length > 0 ? { registries: Object.fromEntries(registries) } : {}
  }
