import { expect, test } from 'vitest'
import { resticProblem } from '../../../src/node/restic/index.ts'

const repository = { repository: 'file:/srv/snapshots/oak', password: 'x', env: {} }
const said = (lines: readonly object[], exitCode = 1) =>
  resticProblem({ exitCode, stderr: lines.map((line) => JSON.stringify(line)).join('\n'), timedOut: false, missing: false }, repository)

const ofItem = (message: string, item: string) => ({ message_type: 'error', error: { message }, during: 'restore', item })
const counted = { message_type: 'exit_error', code: 1, message: 'Fatal: There were 1 errors\n' }

test('what could not be written back is named, and not only counted', () => {
  const { message } = said([ofItem('chmod /box/media/shared: operation not permitted', '/media/shared'), counted])
  expect(message).toBe('restic failed with exit code 1: chmod /box/media/shared: operation not permitted')
})

test('a count alone says no more than the exit code', () => {
  expect(said([counted]).message).toBe('restic failed with exit code 1')
})

test('a folder that the unit makes read-only is reported with the setting to change', () => {
  const problem = said([
    { message_type: 'exit_error', code: 1, message: 'Fatal: create repository at /mnt/s failed: mkdir /mnt/s: read-only file system' },
  ])
  expect(problem.code).toBe('SNAPSHOT_FAILED')
  expect(problem.message).toMatch(/ReadWritePaths=.*: Fatal: create repository at \/mnt\/s failed: mkdir \/mnt\/s: read-only file system$/)
})

test('a secret key that is wrong is refused credentials, not a store that does not answer: restic retries it until its timeout', () => {
  const stderr =
    'Load(<config/0000000000>, 0, 0) returned error, retrying after 1s: The request signature we calculated does not match the signature you provided. Check your key and signing method.'
  const problem = resticProblem({ exitCode: -1, stderr, timedOut: true, missing: false }, repository)
  expect(problem).toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE', message: expect.stringContaining('refuses its credentials') })
})

test('a store whose clock differs is named as such, although restic prints only its message until it is ended', () => {
  const message = "The difference between the request time and the server's time is too large."
  const stderr = [
    `Stat(<config/>) returned error, retrying after 643.324527ms: Stat: ${message}`,
    'signal terminated received, cleaning up',
    '{"message_type":"exit_error","code":1,"message":"Fatal: unable to open config file: context canceled"}',
  ].join('\n')
  const { code, message: text } = resticProblem({ exitCode: 1, stderr, timedOut: true, missing: false }, repository)
  expect([code, text]).toEqual(['SNAPSHOT_STORE_UNAVAILABLE', expect.stringMatching(/^The clocks of this host and of the snapshot store/)])
})

test('the reason of tries that were ended is that of the last try', () => {
  const stderr =
    'Stat(<config/>) returned error, retrying after 4.03s: Stat: The Access Key Id you provided does not exist in our records.\n' +
    '{"message_type":"exit_error","code":1,"message":"Fatal: unable to open config file: context canceled"}'
  const { message } = resticProblem({ exitCode: 1, stderr, timedOut: true, missing: false }, repository)
  expect(message).toMatch(/permissions: Stat: The Access Key Id you provided does not exist in our records\.$/)
})

test('of an error with a stack its message is reported, not the last frame', () => {
  const stderr = [
    'unable to load lock 2f1c: ciphertext verification failed',
    'github.com/restic/restic/internal/restic.LoadLock',
    '\t/restic/internal/restic/lock.go:340',
    'runtime.goexit',
    '\t/usr/local/go/src/runtime/asm_amd64.s:1700',
    '',
  ].join('\n')
  const { message } = resticProblem({ exitCode: 1, stderr, timedOut: false, missing: false }, repository)
  expect(message).toBe('restic failed with exit code 1: unable to load lock 2f1c: ciphertext verification failed')
})
