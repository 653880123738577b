import { execFileSync } from 'node:child_process'
import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// restic derives its key for half a second of a processor, at each of its runs. Repositories of tests have a key that takes none.

type KeyFile = { N: number; r: number; p: number; salt: string; data: string }

const templates = new Map<string, string>()

/** Copies an empty repository with this password, as `restic init` makes one, to a folder. */
export function quickRepository(program: string, password: string, to: string): void {
  const template = templates.get(password) ?? makeTemplate(program, password)
  templates.set(password, template)
  cpSync(template, to, { recursive: true })
}

function makeTemplate(program: string, password: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-quick-repository-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const repository = join(folder, 'repository')
  execFileSync(program, ['init', '-r', repository, '--no-cache'], { input: `${password}\n`, stdio: ['pipe', 'ignore', 'pipe'] })
  const path = join(repository, 'keys', readdirSync(join(repository, 'keys'))[0] as string)
  const key = JSON.parse(readFileSync(path, 'utf8')) as KeyFile
  const master = open(derive(password, key), Buffer.from(key.data, 'base64'))
  const cheap = { ...key, N: 2, r: 1, p: 1 }
  const text = JSON.stringify({ ...cheap, data: seal(derive(password, cheap), master).toString('base64') })
  rmSync(path)
  writeFileSync(join(repository, 'keys', createHash('sha256').update(text).digest('hex')), text, { mode: 0o400 })
  return repository
}

type Keys = Readonly<{ encrypt: Buffer; k: Buffer; r: Buffer }>

function derive(password: string, { N, r, p, salt }: KeyFile): Keys {
  const bytes = scryptSync(password, Buffer.from(salt, 'base64'), 64, { N, r, p, maxmem: 256 * N * r + 1_000_000 })
  return { encrypt: bytes.subarray(0, 32), k: bytes.subarray(32, 48), r: bytes.subarray(48, 64) }
}

/** Nonce, AES-256-CTR, Poly1305-AES: the format of every file in a repository. */
function seal(keys: Keys, plain: Buffer): Buffer {
  const nonce = randomBytes(16)
  const cipher = createCipheriv('aes-256-ctr', keys.encrypt, nonce)
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, sealed, mac(keys, nonce, sealed)])
}

function open(keys: Keys, data: Buffer): Buffer {
  const [nonce, sealed] = [data.subarray(0, 16), data.subarray(16, -16)]
  if (!mac(keys, nonce, sealed).equals(data.subarray(-16))) throw new Error('restic seals its keys in another way')
  const decipher = createDecipheriv('aes-256-ctr', keys.encrypt, nonce)
  return Buffer.concat([decipher.update(sealed), decipher.final()])
}

const little = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

function mac({ k, r }: Keys, nonce: Buffer, sealed: Buffer): Buffer {
  const aes = createCipheriv('aes-128-ecb', k, null).setAutoPadding(false)
  const added = little(Buffer.concat([aes.update(nonce), aes.final()]))
  const factor = little(r) & 0x0ffffffc0ffffffc0ffffffc0fffffffn
  let sum = 0n
  for (let at = 0; at < sealed.length; at += 16)
    sum = ((sum + little(Buffer.concat([sealed.subarray(at, at + 16), Buffer.of(1)]))) * factor) % (2n ** 130n - 5n)
  const hex = ((sum + added) % 2n ** 128n).toString(16).padStart(32, '0')
  return Buffer.from(hex, 'hex').reverse()
}
