import { truncate, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { findFileOf, readContent } from '../../../src/daemon/files/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aFilesWorld } from '../../support/files-world.ts'

test('the content of a file is whole, or counts as missing', async () => {
  const room = await aFilesWorld((await emptyDatabase('sqlite')).db)
  const anna = await room.aUser('anna')
  const { id: spaceId } = await room.aSpace(anna)
  const { id } = await room.send(anna, spaceId, { content: Buffer.from('hello') })
  const { tenantId } = anna
  const file = await findFileOf(room.db, { tenantId, fileId: id })
  if (!file) throw new Error('the file was stored')
  const read = () => readContent(room, { tenantId, objectId: file.objectId, bytes: file.bytes })
  expect(String(await read())).toBe('hello')
  await truncate(room.objectsAt(id), 4)
  expect(await read()).toBeUndefined()
  await writeFile(room.objectsAt(id), 'hello, hello')
  expect(await read()).toBeUndefined()
})
