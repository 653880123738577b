import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadBoxMigrations } from '../../../src/daemon/boxes/index.ts'
import { packageRoot } from '../../../src/node/index.ts'

test('the package’s folder is valid, and a folder with a gap stops the daemon from starting', async () => {
  expect((await loadBoxMigrations(packageRoot('config/box-migrations'))).map(({ head }) => head)).toEqual(['0001', '0002'])
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-migrations-'))
  await writeFile(join(folder, '.hidden'), 'no migration')
  expect(await loadBoxMigrations(folder)).toEqual([])
  await writeFile(join(folder, '0002-late.sql'), 'create table tenantry.late (id integer);')
  await expect(loadBoxMigrations(folder)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('0002-late.sql'),
  })
})
