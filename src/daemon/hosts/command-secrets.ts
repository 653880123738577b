import { boxCommands, type CommandSecrets } from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { type Keyring, unseal } from '../sealed/index.ts'
import type { Command } from './command.repo.ts'
import { registriesFor, sealedAt } from './registries.repo.ts'

type Part = (db: DbOrTx, command: Command) => Promise<CommandSecrets>

/** Joins the parts that rooms give: only those that the command's kind names are asked for, so that one which is not set up fails no other. */
export const secretsByKind =
  (parts: Readonly<Record<keyof CommandSecrets, Part>>): Part =>
  async (db, command) => {
    const wanted = boxCommands[command.kind].secrets
    return Object.assign({}, ...(await Promise.all(wanted.map((name) => parts[name](db, command)))))
  }

/** Mirrors and accounts of the command's host; what is said of the host itself stands before what is said of all. Throws SEALED_UNREADABLE. */
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
