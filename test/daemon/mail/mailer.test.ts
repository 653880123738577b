import { mkdtemp, readdir, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { makeMailer } from '../../../src/daemon/mail/index.ts'
import { smtpServer } from '../../support/smtp-server.ts'

const clock = manualClock()
const from = 'Tenantry <tenantry@school.example>'
const mail = { id: 'msg_1', to: 'anna@school.example', subject: 'north is DOWN', text: 'Next command:\n\n    tenantry boxes show north' }
const bySmtp = (smtp: string) => makeMailer(clock, { dataDir: '/nowhere', mail: { smtp, from } })
const withLogin = (url: string) => url.replace('//', '//tenantry:hunter2%2Fzwei@')

test('a mail reaches its reader with what was to be said, and no machine answers it', async () => {
  const server = await smtpServer()
  expect(await bySmtp(server.url).send({ ...mail, urgent: true })).toBe('accepted by 127.0.0.1')
  expect(server.received).toMatchObject([{ from: 'tenantry@school.example', to: ['anna@school.example'] }])
  const [{ message } = { message: '' }] = server.received
  expect(message).toMatch(/^Subject: north is DOWN$/m)
  expect(message).toMatch(/^Message-ID: <msg_1@school.example>$/im)
  expect(message).toMatch(/^Auto-Submitted: auto-generated$/im)
  expect(message).toMatch(/^X-Priority: 1/im)
  expect(message).toMatch(/^Date: Mon, 05 Jan 2026 02:00:00 \+0000$/m)
  expect(message).toContain('    tenantry boxes show north')
})

test('a line break in a subject begins no header of its own', async () => {
  const server = await smtpServer()
  await bySmtp(server.url).send({ ...mail, subject: 'north\r\nBcc: mallory@evil.example' })
  expect(server.received[0]?.to).toEqual(['anna@school.example'])
  expect(server.received[0]?.message).not.toMatch(/^Bcc:/im)
})

test('a server that repeats name and password in its refusal does not bring them into the error', async () => {
  const server = await smtpServer()
  const base64 = Buffer.from('\0tenantry\0hunter2/zwei').toString('base64')
  server.behave({ auth: `535 no: tenantry hunter2/zwei ${Buffer.from('hunter2/zwei').toString('base64')} hunter2%2Fzwei ${base64}` })
  const refused = await bySmtp(withLogin(server.url))
    .send(mail)
    .catch((error) => error)
  expect(refused).toMatchObject({ code: 'UNAVAILABLE' })
  expect(refused.message).toContain('EAUTH: 535 no: [secret] [secret]')
  expect(`${refused.stack}${JSON.stringify(refused)}${refused.cause}`).not.toMatch(/hunter2|aHVudGVy/)
  expect(refused.message).not.toContain(base64)
  expect(server.said).toContain(`AUTH PLAIN ${base64}`)
})

test('a password does not leave this machine in the clear', async () => {
  const server = await smtpServer()
  const elsewhere = withLogin(server.url).replace('127.0.0.1', 'localhost.') // the same server under a name that is not known as this machine
  const refused = await bySmtp(elsewhere)
    .send(mail)
    .catch((error) => error)
  expect(refused).toMatchObject({ code: 'UNAVAILABLE' })
  expect(server.said.join('\n')).not.toMatch(/AUTH/)
})

test('an unreachable or rejecting server is named in the error', async () => {
  const server = await smtpServer()
  server.behave({ accepts: '550 mailbox\u001b[31m unknown' })
  await expect(bySmtp(server.url).send(mail)).rejects.toThrow(
    /127\.0\.0\.1:\d+ rejected the mail \(EMESSAGE: 550 mailbox�\[31m unknown\)\. fix: check the recipient, mail\.from and the account/,
  )
  await server.close()
  await expect(bySmtp(server.url).send(mail)).rejects.toThrow(/rejected the mail \((?:ECONNREFUSED|ESOCKET).*check that it runs/)
})

test('whoever ends meanwhile does not wait for a server that says nothing', async () => {
  const server = await smtpServer()
  server.behave({ silent: true })
  const ending = new AbortController()
  const sending = bySmtp(server.url).send(mail, ending.signal)
  ending.abort()
  await expect(sending).rejects.toThrow('broken off')
})

test('without a server a mail is a file of its own, and the same mail again is the same file', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tenantry-mail-'))
  const mailer = makeMailer(clock, { dataDir, mail: { from } })
  expect(await mailer.send(mail)).toBe(`written to ${join(dataDir, 'mail', 'msg_1.eml')}`)
  await mailer.send(mail)
  expect(await readdir(join(dataDir, 'mail'))).toEqual(['msg_1.eml'])
  const file = join(dataDir, 'mail', 'msg_1.eml')
  expect(await readFile(file, 'utf8')).toMatch(/^To: anna@school.example$/m)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('a folder that cannot be written is told of', async () => {
  const folder = join(import.meta.filename, 'mail')
  await expect(makeMailer(clock, { dataDir: '/nowhere', mail: { from, folder } }).send(mail)).rejects.toThrow(
    `the mail cannot be written to ${folder} (ENOTDIR)`,
  )
})
