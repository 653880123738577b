import type { Tx } from '../db/index.ts'
import { type Command, commandsByIds } from './command.repo.ts'
import type { BoxSide, FailureHandlers, ResultHandlers } from './deps.ts'

/** A room that acts upon how commands end, beside the one that boxes belong to. */
export type CommandListener = Readonly<{ resultHandlers?: ResultHandlers; failureHandlers?: FailureHandlers }>

/** Several rooms may listen to one kind of command: each is called in turn, in the same transaction. */
export function listenedTo(side: BoxSide, ...listeners: readonly CommandListener[]): BoxSide {
  const all = [side, ...listeners]
  return {
    ...side,
    resultHandlers: inTurn(all.map(({ resultHandlers }) => resultHandlers)) as ResultHandlers,
    failureHandlers: inTurn(all.map(({ failureHandlers }) => failureHandlers)) as FailureHandlers,
  }
}

type AnyHandler = (tx: Tx, command: Command, end: never) => Promise<void>
type AnyHandlers = Readonly<Record<string, AnyHandler | undefined>>

function inTurn(tables: readonly (object | undefined)[]): AnyHandlers {
  const given = tables.filter((table) => table !== undefined) as AnyHandlers[]
  const kinds = [...new Set(given.flatMap((table) => Object.keys(table)))]
  return Object.fromEntries(
    kinds.map((kind) => [
      kind,
      async (tx: Tx, command: Command, end: never) => {
        for (const table of given) await table[kind]?.(tx, command, end)
      },
    ]),
  )
}

/** Tells the rooms of commands that were given up, as they stand now. */
export async function tellFailures(tx: Tx, { failureHandlers }: CommandListener, ids: readonly string[]): Promise<void> {
  for (const command of await commandsByIds(tx, ids)) await failureHandlers?.[command.kind]?.(tx, command, { told: false })
}
