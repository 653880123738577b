import { chmod, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Secret } from '../../../src/core/kit/index.ts'
import { keyring, loadKeyring, reseal, seal, staleColumns, unseal } from '../../../src/daemon/sealed/index.ts'
import { systemRandom as random } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'

const [oldKey, newKey] = [1, 2].map((fill) => Buffer.alloc(32, fill).toString('base64')) as [string, string]
const place = { table: 'boxes', row: 'box_1', column: 'token' }
const aFolder = () => mkdtemp(join(tmpdir(), 'tenantry-sealed-'))

test('what was sealed opens in its place, and prints as nothing', () => {
  const ring = keyring([oldKey])
  const opened = unseal(ring, place, seal({ keyring: ring, random }, place, new Secret('hunter2')))
  expect([opened.reveal(), String(opened), JSON.stringify({ opened })]).toEqual(['hunter2', '[secret]', '{"opened":"[secret]"}'])
})

test('the same value never looks the same', () => {
  const ring = keyring([oldKey])
  expect(seal({ keyring: ring, random }, place, 'hunter2')).not.toBe(seal({ keyring: ring, random }, place, 'hunter2'))
})

test.each([
  ['row', { ...place, row: 'box_2' }],
  ['column', { ...place, column: 'password' }],
  ['table', { ...place, table: 'hosts' }],
])('a value that was moved to another %s does not open', (_, elsewhere) => {
  const ring = keyring([oldKey])
  expect(() => unseal(ring, elsewhere, seal({ keyring: ring, random }, place, 'hunter2'))).toThrow(/changed or copied/)
})

test('a changed value does not open', () => {
  const ring = keyring([oldKey])
  const parts = seal({ keyring: ring, random }, place, 'hunter2').split('.')
  const changed = parts.with(3, Buffer.from('hunter3').toString('base64url')).join('.')
  expect(() => unseal(ring, place, changed)).toThrow(/changed or copied/)
})

test.each(['', 'plain text', 'a.b.c.d'])('what was never sealed does not open: %j', (text) => {
  expect(() => unseal(keyring([oldKey]), place, text)).toThrow(expect.objectContaining({ code: 'SEALED_UNREADABLE' }))
})

test('with a new key in front the old values open and new ones need the new key', () => {
  const [before, both, after] = [keyring([oldKey]), keyring([newKey, oldKey]), keyring([newKey])]
  const old = seal({ keyring: before, random }, place, 'hunter2')
  expect(unseal(both, place, old).reveal()).toBe('hunter2')
  const anew = seal({ keyring: both, random }, place, 'hunter2')
  expect(unseal(after, place, anew).reveal()).toBe('hunter2')
  expect(() => unseal(before, place, anew)).toThrow(/does not contain/)
  expect(() => unseal(after, place, old)).toThrow(/does not contain/)
})

test('on one machine a key file is made once, for its owner only', async () => {
  const dataDir = await aFolder()
  const made = await loadKeyring({ random }, { dataDir, production: false })
  expect((await stat(join(dataDir, 'secret.key'))).mode & 0o777).toBe(0o600)
  expect(await loadKeyring({ random }, { dataDir, production: false })).toEqual(made)
})

test('programs that start at once use one key', async () => {
  const dataDir = await aFolder()
  const rings = await Promise.all(Array.from({ length: 10 }, () => loadKeyring({ random }, { dataDir, production: false })))
  expect(new Set(rings.map(({ keys }) => keys[0]?.id)).size).toBe(1)
  expect(await readdir(dataDir)).toEqual(['secret.key'])
})

test('a key file that others can read is refused', async () => {
  const dataDir = await aFolder()
  await loadKeyring({ random }, { dataDir, production: false })
  await chmod(join(dataDir, 'secret.key'), 0o640)
  await expect(loadKeyring({ random }, { dataDir, production: false })).rejects.toMatchObject({ code: 'CONFIG' })
})

test('a key file that holds no key is refused', async () => {
  const dataDir = await aFolder()
  await writeFile(join(dataDir, 'secret.key'), 'short\n', { mode: 0o600 })
  await expect(loadKeyring({ random }, { dataDir, production: false })).rejects.toMatchObject({ code: 'CONFIG' })
})

test('production without a key from the environment is refused, and makes no file', async () => {
  const dataDir = await aFolder()
  await expect(loadKeyring({ random }, { dataDir, production: true })).rejects.toMatchObject({ code: 'CONFIG' })
  await expect(readFile(join(dataDir, 'secret.key'))).rejects.toMatchObject({ code: 'ENOENT' })
  expect((await loadKeyring({ random }, { secretKey: [newKey], dataDir, production: true })).keys).toHaveLength(1)
})

onBothDialects('sealing anew', (fresh) => {
  const column = { table: 'signing_keys', column: 'private_jwk', key: 'kid' }
  const row = (kid: string, generation: number, sealed: string) => ({
    kid,
    audience: 'admin',
    generation,
    public_jwk: '{}',
    private_jwk: sealed,
    created_at: '',
    sign_from: '',
    verify_until: null,
  })

  test('moves every value of a column to the first key, each in its own place, and once', async () => {
    const db = await fresh()
    const [before, both] = [keyring([oldKey]), keyring([newKey, oldKey])]
    const sealedFor = (kid: string) =>
      seal({ keyring: before, random }, { table: 'signing_keys', row: kid, column: 'private_jwk' }, `of ${kid}`)
    await db
      .insertInto('signing_keys')
      .values([row('a', 1, sealedFor('a')), row('b', 2, sealedFor('b'))])
      .execute()
    expect(await staleColumns({ db, keyring: both })).toEqual(['signing_keys.private_jwk'])
    expect(await reseal({ db, random, keyring: both }, column)).toBe(2)
    expect(await reseal({ db, random, keyring: both }, column)).toBe(0)
    expect(await staleColumns({ db, keyring: both })).toEqual([])
    const rows = await db.selectFrom('signing_keys').selectAll().orderBy('kid').execute()
    const opened = rows.map(({ kid, private_jwk }) =>
      unseal(keyring([newKey]), { table: 'signing_keys', row: kid, column: 'private_jwk' }, private_jwk),
    )
    expect(opened.map((value) => value.reveal())).toEqual(['of a', 'of b'])
  })
})
