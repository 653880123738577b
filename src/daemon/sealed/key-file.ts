import { statSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { problem, type Random } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import { type Keyring, keyring } from './seal.ts'

type Deps = Readonly<{ random: Random }>
type Source = Readonly<{ secretKey?: readonly string[] | undefined; dataDir: string; production: boolean }>

/**
 * The keys of this daemon: from the settings, or, on a single machine, a 0600 file that is created once.
 * Throws CONFIG in production without a key: a key beside the data it protects protects nothing.
 */
export async function loadKeyring({ random }: Deps, source: Source): Promise<Keyring> {
  const stored = await readKeyring(source)
  if (stored) return stored
  await createKey({ random }, source.dataDir)
  return loadKeyring({ random }, source)
}

/** Like `loadKeyring`, but creates nothing: undefined when the file does not exist yet. */
export async function readKeyring({ secretKey, dataDir, production }: Source): Promise<Keyring | undefined> {
  if (secretKey) return keyring(secretKey)
  if (production)
    throw problem('CONFIG', 'TENANTRY_SECRET_KEY is not set: in production the key comes from the environment (`openssl rand -base64 32`)')
  const file = keyFile(dataDir)
  const stored = await readIfThere(file)
  if (stored === undefined) return undefined
  if ((statSync(file).mode & 0o077) !== 0) throw problem('CONFIG', `${file} can be read by others: chmod 600 ${file}`)
  const keys = stored.trim().split(/[\s,]+/)
  if (!keys.every((key) => Buffer.from(key, 'base64').length === 32))
    throw problem(
      'CONFIG',
      `${file} must contain keys of 32 bytes in base64. fix: restore the right file, or remove it if nothing was sealed yet`,
    )
  return keyring(keys)
}

const keyFile = (dataDir: string) => join(dataDir, 'secret.key')

/** When several programs start at once, one creates the file and all use its key. */
async function createKey({ random }: Deps, dataDir: string): Promise<void> {
  const temporary = join(dataDir, `.secret.key.${Buffer.from(random.bytes(8)).toString('hex')}.tmp`)
  await writeFileAtomic(temporary, `${Buffer.from(random.bytes(32)).toString('base64')}\n`, { mode: 0o600 })
  try {
    await link(temporary, keyFile(dataDir)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(dataDir)
}
