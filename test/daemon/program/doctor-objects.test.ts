import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import { objects } from '../../../src/daemon/program/doctor-objects.ts'
import { aFolder } from '../../support/running-daemon.ts'

const looked = async (env: Record<string, string>) => objects(loadConfig({ env: { TENANTRY_DATA_DIR: await aFolder('doctor'), ...env } }))

test('a folder that does not exist yet is created for the first file, not at a start', async () => {
  expect(await looked({})).toMatchObject({ state: 'ok', says: expect.stringMatching(/objects will be created for the first file/) })
})

test('a folder is well for one daemon, and doubtful where there may be two', async () => {
  const folder = join(await aFolder('doctor'), 'kept')
  await mkdir(folder)
  const env = { TENANTRY_OBJECT_STORE: `file:${folder}` }
  expect(await looked(env)).toMatchObject({ state: 'ok' })
  expect(await looked({ ...env, TENANTRY_DATABASE: 'postgres://127.0.0.1/x' })).toMatchObject({ state: 'warn' })
})

test('what is no folder is a fault', async () => {
  const file = join(await aFolder('doctor'), 'file')
  await writeFile(file, '')
  expect(await looked({ TENANTRY_OBJECT_STORE: `file:${file}` })).toMatchObject({ state: 'failed', says: expect.stringMatching(/EEXIST/) })
})

test('a bucket without an account is a fault, and one that nobody answers for too', async () => {
  const env = { TENANTRY_OBJECT_STORE: 's3+http://127.0.0.1:9/files' }
  expect(await looked(env)).toMatchObject({ state: 'failed', says: expect.stringMatching(/TENANTRY_OBJECT_STORE_CREDENTIALS/) })
  const account = {
    TENANTRY_OBJECT_STORE_CREDENTIALS_ACCESS_KEY_ID: 'a',
    TENANTRY_OBJECT_STORE_CREDENTIALS_SECRET_ACCESS_KEY: 'b',
  }
  expect(await looked({ ...env, ...account })).toMatchObject({ state: 'failed', says: expect.stringMatching(/ECONNREFUSED/) })
})
