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

test('certificates that end within 14 days are one alert; an address that does not answer is counted', async () => {
  const { db } = await emptyDatabase('sqlite')
  onTestFinished(() => db.destroy())
  const room = await aBoxesWorld(db)
  await aLiveBox(room, 'linden')
  await aLiveBox(room, 'ahorn')
  await db
    .updateTable('boxes')
    .set({ public_url: `https://127.0.0.1:${await aServer()}` })
    .where('slug', '=', 'linden')
    .execute()
  await db.updateTable('boxes').set({ public_url: 'https://127.0.0.1:1' }).where('slug', '=', 'ahorn').execute()
  const alerts = () => db.selectFrom('alerts').select(['severity', 'title', 'status']).execute()
  const checkAt = (ms: number) => {
    const clock = { ...room.clock, now: () => new Date(Date.now() + ms) }
    return checkCertificates({ db, clock }, new AbortController().signal)
  }
  expect(await checkAt(-5 * 86_400_000)).toBe('read 1 certificate, 0 end soon, 1 address does not answer')
  expect(await alerts()).toEqual([])
  expect(await checkAt(0)).toBe('read 1 certificate, 1 end soon, 1 address does not answer')
  expect(await alerts()).toEqual([{ severity: 'warning', title: 'The certificate of linden ends soon', status: 'open' }])
  await checkAt(-5 * 86_400_000)
  expect(await alerts()).toEqual([{ severity: 'warning', title: 'The certificate of linden ends soon', status: 'closed' }])
})
