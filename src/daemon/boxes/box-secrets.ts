import type { BoxId, CommandOutputs } from '../../core/boxes/index.ts'
import { type Clock, isoNow, type Random, type Secret } from '../../core/kit/index.ts'
import type { DbOrTx, WithTx } from '../db/index.ts'
import { type Keyring, type SealedColumn, seal, unseal } from '../sealed/index.ts'

/** Credentials created on the box's host, with which the platform calls the box. */
export type BoxSecretName = Exclude<keyof CommandOutputs, 'snapshotRepositoryId'>

type Credentials = Omit<CommandOutputs, 'snapshotRepositoryId'>
type Deps = Readonly<{ clock: Clock; random: Random; keyring: Keyring }>

/** The sealed columns of this feature, for `tenantryd rekey`. */
export const boxesSealedColumns: readonly SealedColumn[] = [{ table: 'box_secrets', column: 'sealed', key: 'id' }]

const place = (boxId: BoxId, name: BoxSecretName) => ({ table: 'box_secrets', row: `${boxId}/${name}`, column: 'sealed' })

/** Seals delivered credentials; a repeated delivery replaces them. */
export async function sealOutputs({ clock, random, keyring, tx }: WithTx<Deps>, boxId: BoxId, credentials: Credentials): Promise<void> {
  for (const [name, value] of Object.entries(credentials) as [BoxSecretName, string | undefined][]) {
    if (value === undefined) continue
    const row = {
      id: `${boxId}/${name}`,
      box_id: boxId,
      name,
      sealed: seal({ keyring, random }, place(boxId, name), value),
      updated_at: isoNow(clock),
    }
    await tx
      .insertInto('box_secrets')
      .values(row)
      .onConflict((c) => c.column('id').doUpdateSet({ sealed: row.sealed, updated_at: row.updated_at }))
      .execute()
  }
}

/** Unseals one; undefined when the box never delivered it. */
export async function boxSecret(
  { keyring, db }: Pick<Deps, 'keyring'> & Readonly<{ db: DbOrTx }>,
  boxId: BoxId,
  name: BoxSecretName,
): Promise<Secret | undefined> {
  const row = await db.selectFrom('box_secrets').select('sealed').where('box_id', '=', boxId).where('name', '=', name).executeTakeFirst()
  return row && unseal(keyring, place(boxId, name), row.sealed)
}
