import { statSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { problem, type Random } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import { type Keyring, keyring } from './seal.ts'

type Deps = Readonly<{ random: Random }>
type Source = Readonly<{ secretKey?: readonly string[] | undefined; dataDir: string; production: boolean }>

/**
 * The keys of this daemon: from the settings, or, on a single machine, a 0600 file that is made once.
 * Throws CONFIG in production without a key: a key beside the data it protects protects nothing.
 */
export async function loadKeyring({ random }: Deps, { secretKey, dataDir, production }: Source): Promise<Keyring> {
  if (secretKey) return keyring(secretKey)
  if (production)
    throw problem('CONFIG', 'TENANTRY_SECRET_KEY is not set: in production the key comes from the environment (`openssl rand -base64 32`)')
  const file = join(dataDir, 'secret.key')
  const found = (await readIfThere(file)) ?? (await createKey({ random }, dataDir, file))
  if ((statSync(file).mode & 0o077) !== 0) throw problem('CONFIG', `${file} can be read by others: chmod 600 ${file}`)
  const keys = found.trim().split(/[\s,]+/)
  if (!keys.every((key) => Buffer.from(key, 'base64').length === 32))
    throw problem('CONFIG', `${file} must hold keys of 32 bytes in base64: put the right file back, or remove it if nothing was sealed yet`)
  return keyring(keys)
}

/** Of several programs that start at once only one creates the file, and all use its key. */
async function createKey({ random }: Deps, dataDir: string, file: string): Promise<string> {
  const temporary = join(dataDir, `.secret.key.${Buffer.from(random.bytes(8)).toString('hex')}.tmp`)
  await writeFileAtomic(temporary, `${Buffer.from(random.bytes(32)).toString('base64')}\n`, { mode: 0o600 })
  try {
    await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(dataDir)
  return (await readIfThere(file)) ?? ''
}
