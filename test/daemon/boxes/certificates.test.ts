import { execFile } from 'node:child_process'
import { mkdtemp, readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { checkCertificates } from '../../../src/daemon/boxes/check-certificates.ts'
import { aBoxesWorld, aLiveBox } from '../../support/boxes-world.ts'
import { emptyDatabase } from '../../support/databases.ts'

/** A TLS server whose certificate is valid for ten days from now. */
async function aServer(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '10', '-subj', '/CN=linden.example', '-keyout', key, '-out', cert]
  await promisify(execFile)('openssl', made)
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (socket) => socket.end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const dayMs = 86_400_000

/** Boxes whose public addresses are set, and checks at days from now; the certificates end after ten. */
async function aFleet(ports: Readonly<Record<string, number>>) {
  const { db } = await emptyDatabase('sqlite')
  onTestFinished(() => db.destroy())
  const room = await aBoxesWorld(db)
  const setPort = (slug: string, port: number) =>
    db
      .updateTable('boxes')
      .set({ public_url: `https://127.0.0.1:${port}` })
      .where('slug', '=', slug)
      .execute()
  for (const [slug, port] of Object.entries(ports)) {
    await aLiveBox(room, slug)
    await setPort(slug, port)
  }
  const checkAt = (days: number, signal = new AbortController().signal) =>
    checkCertificates({ db, clock: { ...room.clock, now: () => new Date(Date.now() + days * dayMs) } }, signal)
  const alerts = async () =>
    (await db.selectFrom('alerts').select(['severity', 'subject', 'status']).orderBy('id').execute()).map(
      ({ severity, subject, status }) => `${severity} ${subject} ${status}`,
    )
  return { setPort, checkAt, alerts }
}
const silentPort = 1

test('a certificate that ends within 14 days is an alert; an address that does not answer is counted', async () => {
  const { checkAt, alerts } = await aFleet({ linden: await aServer(), ahorn: silentPort })
  expect(await checkAt(-5)).toBe('read 1 certificate, 0 end soon, 1 address does not answer')
  expect(await alerts()).toEqual([])
  expect(await checkAt(0)).toBe('read 1 certificate, 1 end soon, 1 address does not answer')
  expect(await alerts()).toEqual(['warning linden open'])
  await checkAt(-5)
  expect(await alerts()).toEqual(['warning linden closed'])
})

test('within 3 days a critical alert replaces the warning', async () => {
  const { checkAt, alerts } = await aFleet({ linden: await aServer() })
  await checkAt(0)
  await checkAt(8)
  await checkAt(11)
  expect(await alerts()).toEqual(['warning linden closed', 'critical linden open'])
})

test('while the certificate of one box ends, that of another one alerts too', async () => {
  const { checkAt, alerts, setPort } = await aFleet({ linden: await aServer(), ahorn: silentPort })
  await checkAt(0)
  await setPort('ahorn', await aServer())
  await checkAt(1)
  expect(await alerts()).toEqual(['warning linden open', 'warning ahorn open'])
})

test('an address that does not answer, and a check that is stopped, say nothing: the alert stays', async () => {
  const { checkAt, alerts, setPort } = await aFleet({ linden: await aServer() })
  await checkAt(0)
  await expect(checkAt(1, AbortSignal.abort())).rejects.toThrow()
  expect(await alerts()).toEqual(['warning linden open'])
  await setPort('linden', silentPort)
  await checkAt(1)
  expect(await alerts()).toEqual(['warning linden open'])
})
