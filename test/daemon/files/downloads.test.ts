import { once } from 'node:events'
import { truncate } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { manualClock, type PlatformPrincipal } from '../../../src/core/kit/index.ts'
import { type Db, openDatabase } from '../../../src/daemon/db/index.ts'
import { filesRoutes } from '../../../src/daemon/files/index.ts'
import { bucketStore } from '../../../src/daemon/objects/bucket-store.ts'
import type { ObjectStore } from '../../../src/daemon/objects/index.ts'
import { putSpaceMember, removeSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aFilesWorld } from '../../support/files-world.ts'
import { hurriedClock } from '../../support/hurried-clock.ts'
import { aPlatformUser } from '../../support/platform-user.ts'
import { aRunningDaemon, clientOf, loggedIn } from '../../support/running-daemon.ts'
import { aSmallApp } from '../../support/small-app.ts'

// Downloads in progress whose user loses access. The clients here stop reading, so that a download never ends by itself.

/** More bytes than socket buffers hold for a client that does not read. */
const large = 48 * 1024 * 1024

/** A client that reads only the first bytes of a response; `ended` resolves to the received bytes. */
async function aStuckClient(url: string, path: string, authorization: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`)
  const [head] = (await once(socket, 'data')) as [Buffer]
  socket.pause()
  let taken = head.length
  const over = new Promise<void>((done) => socket.once('close', () => done()))
  /** Reads to the end, slowly (half a minute in total) or at full speed; returns the number of bytes. */
  const ended = async (pauseMs = 20): Promise<number> => {
    socket.on('data', (bytes) => {
      taken += bytes.length
      if (pauseMs > 0) setTimeout(() => socket.resume(), pauseMs)
      if (pauseMs > 0) socket.pause()
    })
    socket.resume()
    await over
    return taken
  }
  return { head: head.toString('latin1'), ended }
}

type StuckClient = Awaited<ReturnType<typeof aStuckClient>>

/** Makes the uploaded file large without sending bytes. */
async function makeLarge(db: Db, path: string) {
  await truncate(path, large)
  await db.updateTable('files').set({ bytes: large }).execute()
}

/** A bucket that accepts files and returns only the first bytes of each. */
async function aStuckBucket(): Promise<ObjectStore> {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    if (request.method !== 'GET') return void response.end()
    response.writeHead(200, { 'content-length': '1000' })
    response.write('begin')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return bucketStore(`http://127.0.0.1:${port}/files`, { accessKeyId: 'key', secretAccessKey: 'secret' })
}

describe.each(['folder', 'bucket'] as const)('from a %s', (kind) => {
  /** A file that anna is about to download, and the stream the store opened for it. */
  async function downloading() {
    const room = await aFilesWorld((await emptyDatabase('sqlite')).db)
    const objects = kind === 'folder' ? room.objects : await aStuckBucket()
    const opened: Readable[] = []
    const get: ObjectStore['get'] = async (...given) => {
      const content = await objects.get(...given)
      opened.push(content as Readable)
      return content
    }
    const anna = await room.aUser('anna')
    const users: Record<string, PlatformPrincipal> = { anna }
    const { id: spaceId } = await room.aSpace(anna)
    const deps = { ...room, objects: { ...objects, get } }
    const { id } = await room.send(anna, spaceId, { content: Buffer.alloc(1000) }, deps)
    if (kind === 'folder') await makeLarge(room.db, room.objectsAt(id))
    const clock = manualClock()
    const { url } = await aSmallApp(filesRoutes(deps), users, clock)
    const client = await aStuckClient(url, `/api/platform/v1/spaces/${spaceId}/files/${id}/content`, 'Bearer anna')
    expect(client.head).toContain('200 OK')
    return { room, anna, spaceId, users, clock, client, opened }
  }

  test('a download ends when its user loses access, and the store stream is closed', async () => {
    const { users, clock, client, opened } = await downloading()
    delete users.anna
    await clock.advance(250)
    await expect.poll(() => opened.map(({ destroyed }) => destroyed)).toEqual([true])
    expect(await client.ended()).toBeLessThan(large)
    expect(clock.sleepers()).toBe(0)
  })

  test('a download ends when its user is removed from the space, and not when another user is', async () => {
    const { room, anna, spaceId, clock, client, opened } = await downloading()
    const [ben, cem] = [await room.aUser('ben'), await room.aUser('cem')]
    const put = (userId: string, role: 'owner' | 'member') => putSpaceMember(room, anna, { spaceId, userId, role })
    await put(ben.userId, 'owner')
    await put(cem.userId, 'member')
    await removeSpaceMember(room, ben, { spaceId, userId: cem.userId })
    await room.revocations.readNow()
    await clock.advance(250)
    expect(opened.map(({ destroyed }) => destroyed)).toEqual([false])
    await removeSpaceMember(room, ben, { spaceId, userId: anna.userId })
    await room.revocations.readNow()
    await clock.advance(250)
    await expect.poll(() => opened.map(({ destroyed }) => destroyed)).toEqual([true])
    expect(await client.ended()).toBeLessThan(large)
    expect(clock.sleepers()).toBe(0)
  })

  test('a download that its client does not read ends after five minutes', async () => {
    const { clock, client, opened } = await downloading()
    for (let second = 0; second < 299; second += 1) await clock.advance(1000)
    expect(opened.map(({ destroyed }) => destroyed)).toEqual([false])
    // Sockets take more while their buffers grow, at times of the machine and not of this clock; five minutes after the last byte it ends.
    const after = async () => {
      await clock.advance(10_000)
      return opened.map(({ destroyed }) => destroyed)
    }
    await expect.poll(after, { timeout: 30_000, interval: 5 }).toEqual([true])
    expect(await client.ended()).toBeLessThan(large)
    expect(clock.sleepers()).toBe(0)
  })
})

describe('with a whole daemon', () => {
  const space = { name: '4b', type: 'CLASSROOM', visibility: 'PRIVATE' } as const

  /** A space of these users with a large file, and a client of each that downloads it. */
  async function downloading(names: readonly string[]) {
    const daemon = await aRunningDaemon({ clock: hurriedClock })
    onTestFinished(daemon.close)
    const tokens = await Promise.all(names.map((localpart) => aPlatformUser(daemon, { tenant: 'acme', localpart, roles: ['teacher'] })))
    const [first, ...others] = tokens.map((token) => clientOf(daemon.url, token))
    if (!first) throw new Error('somebody has to download')
    const { id: spaceId } = await first.spaces.createSpace({ body: space })
    const ids = new Map<string, string>()
    for (const [n, { profile }] of others.entries()) {
      const { userId } = await profile.showProfile()
      ids.set(names[n + 1] ?? '', userId)
      await first.spaces.putSpaceMember({ params: { spaceId, userId }, body: {} })
    }
    const { id } = await first.files.uploadFile({ params: { spaceId }, upload: { content: new Blob(['x']), fileName: 'film' } })
    const { db, close } = openDatabase(daemon.config.databaseUrl)
    const { tenant_id } = await db.selectFrom('files').select('tenant_id').executeTakeFirstOrThrow()
    await makeLarge(db, join(daemon.config.dataDir, 'objects', 'files', tenant_id, id))
    await close()
    const path = `/api/platform/v1/spaces/${spaceId}/files/${id}/content`
    const clients = await Promise.all(tokens.map((token) => aStuckClient(daemon.url, path, token)))
    const putOut = (name: string) => first.spaces.removeSpaceMember({ params: { spaceId, userId: ids.get(name) ?? '' } })
    return { putOut, clients, admin: clientOf(daemon.url, await loggedIn(daemon, 'operator')) }
  }

  test('a download ends with its session, its user, its membership or its tenant, and no other download ends', async () => {
    const { clients, admin, putOut } = await downloading(['fritz', 'anna', 'ben', 'cem', 'dora', 'eve'])
    const [_, anna, ben, cem, dora, eve] = clients as [StuckClient, StuckClient, StuckClient, StuckClient, StuckClient, StuckClient]
    await putOut('eve')
    const { sessions } = await admin.sessions.listUserSessions({ params: { slug: 'acme' }, query: { user: 'ben' } })
    await admin.users.disableUser({ params: { slug: 'acme', localpart: 'anna' }, body: { reason: 'left' } })
    await admin.sessions.revokeUserSession({ params: { slug: 'acme', id: sessions[0]?.id ?? '' } })
    expect(await anna.ended()).toBeLessThan(large)
    expect(await ben.ended()).toBeLessThan(large)
    expect(await cem.ended(0)).toBeGreaterThan(large)
    expect(await eve.ended()).toBeLessThan(large)
    await admin.tenants.suspendTenant({ params: { slug: 'acme' }, body: { reason: 'unpaid' } })
    expect(await dora.ended()).toBeLessThan(large)
  })
})
