import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { File } from '../../src/core/files/index.ts'
import type { PlatformPrincipal } from '../../src/core/kit/index.ts'
import { someObjects } from '../../src/daemon/app/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import type { FilesDeps } from '../../src/daemon/files/deps.ts'
import { uploadFile } from '../../src/daemon/files/upload-file.ts'
import type { Upload } from '../../src/daemon/http/index.ts'
import { openObjectStore } from '../../src/daemon/objects/index.ts'
import { watchedRevocations } from './loops.ts'
import { aFolder } from './running-daemon.ts'
import { aSpacesWorld } from './spaces-world.ts'

type Sent = Readonly<{ content?: Uint8Array; fileName?: string; contentType?: string; fields?: object; bytes?: Upload['bytes'] }>

export async function* inPieces(whole: Uint8Array, pieceBytes = 1000) {
  for (let at = 0; at < whole.length; at += pieceBytes) yield whole.subarray(at, at + pieceBytes)
}

/** An uploaded form without a network. */
export function anUpload({
  content = Buffer.from('hello'),
  fileName = 'a.txt',
  contentType = 'text/plain',
  fields = {},
  bytes,
}: Sent = {}) {
  const upload: Upload<never> = {
    bytes: bytes ?? { least: content.length, most: content.length },
    receive: async (take) => ({ taken: await take({ fileName, contentType, content: inPieces(content) }), fields: fields as never }),
  }
  return upload
}

/** The files of the tenant `acme` over an empty database, in a folder of their own. */
export async function aFilesWorld(db: Db, limit = 1_000_000) {
  const spaces = await aSpacesWorld(db)
  const folder = await aFolder('files')
  const objects = await openObjectStore({ dataDir: folder, objectStore: `file:${folder}` } as never, {
    guard: { someObjects: () => someObjects(db), clock: spaces.clock },
  })
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const revocations = await watchedRevocations(spaces, over.signal)
  const room = { ...spaces, objects, revocations, quotas: { light: limit, pro: limit, dedicated: limit } }
  const kept = async () =>
    (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile()).map(({ name }) => name)
  const send = (actor: PlatformPrincipal, spaceId: string, sent: Sent = {}, deps: FilesDeps = room): Promise<File> =>
    uploadFile(deps, actor, { spaceId, upload: anUpload(sent) })
  const usage = async () => (await db.selectFrom('file_usage').select('bytes').executeTakeFirst())?.bytes ?? 0
  const rows = () => db.selectFrom('files').selectAll().orderBy('id').execute()

  /** Asserts that rows, objects and the usage counter agree. */
  async function agree(): Promise<void> {
    const found = await rows()
    expect((await kept()).sort()).toEqual(found.map(({ id, object_id }) => object_id ?? id).sort())
    expect(await usage()).toBe(found.reduce((sum, { bytes }) => sum + bytes, 0))
  }
  return { ...room, folder, objectsAt: (id: string) => join(folder, 'files', spaces.tenantId, id), kept, send, usage, rows, agree }
}
