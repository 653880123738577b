import { readFile } from 'node:fs/promises'
import { problem } from '../../core/kit/index.ts'
import { readStoreAddress } from '../../core/snapshots/index.ts'
import { type Globals, type Machine, print } from '../../node/command-line.ts'
import { recoveryPassword, repositoryAddress } from '../snapshots/index.ts'
import { settingsOf } from './installation.ts'

type Options = Globals & Readonly<{ keyFile?: string }>
type Opened = Readonly<{ tenantId: string; repository: string | null; password: string }>

/**
 * Prints repository and password of these tenants for restic. Requires the recovery key only; no database, backup key or daemon.
 * Throws USAGE.
 */
export async function printRecoveryPasswords(machine: Machine, options: Options, tenantIds: readonly string[]): Promise<undefined> {
  const { recoveryKey, snapshotStore } = settingsOf(machine, options)
  const key = options.keyFile === undefined ? recoveryKey : await keyIn(options.keyFile)
  if (key === undefined) throw problem('USAGE', 'no recovery key. fix: pass --key-file <file>, or set TENANTRY_RECOVERY_KEY')
  const opened = tenantIds.map((tenantId) => openedBy(key, snapshotStore, tenantId))
  print(machine, options, { result: opened, words: opened.map(words).join('\n\n') })
  return undefined
}

async function keyIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw problem('USAGE', `${file} cannot be read (${error.code}). fix: pass the file with the recovery key to --key-file`)
  })
  const key = text.split(/\r?\n/)[0]?.trim() ?? ''
  if (Buffer.from(key, 'base64').length === 32) return key
  throw problem('USAGE', `${file} holds no recovery key; its first line must be 32 bytes in base64`)
}

const tenantIdForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

function openedBy(key: string, snapshotStore: string | undefined, tenantId: string): Opened {
  if (!tenantIdForm.test(tenantId))
    throw problem('USAGE', `${JSON.stringify(tenantId)} is not a tenant id. fix: use the folder names in the snapshot store`)
  const store = snapshotStore === undefined ? undefined : readStoreAddress(snapshotStore)
  const isKnown = store !== undefined && typeof store !== 'string'
  return { tenantId, repository: isKnown ? repositoryAddress(store, tenantId) : null, password: recoveryPassword(key, tenantId) }
}

const words = ({ tenantId, repository, password }: Opened): string =>
  [`tenant      ${tenantId}`, `repository  ${repository ?? `<snapshot store>/${tenantId}/v1`}`, `password    ${password}`].join('\n')
