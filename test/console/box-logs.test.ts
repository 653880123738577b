import { expect, test } from 'vitest'
import { logText, maxShownLines, noLogs, withMessage } from '../../src/console/boxes/log-lines.ts'
import { cpuText, memoryText, stateText } from '../../src/console/boxes/service-words.ts'

const line = (n: number, service = 'synapse') => ({ at: `2026-01-05T02:00:0${n % 10}.5Z`, service, text: `line ${n}` })
const message = (...lines: ReturnType<typeof line>[]) => ({ lines, leftOut: false, end: null })

test('the page keeps the newest lines, and filters them by text or service without asking again', () => {
  const many = withMessage(
    withMessage(noLogs, message(line(0, 'edge'))),
    message(...Array.from({ length: maxShownLines }, (_, n) => line(n))),
  )
  expect([many.lines.length, many.lines[0]?.service]).toEqual([maxShownLines, 'synapse'])
  const { lines } = withMessage(noLogs, message(line(1), line(2, 'edge')))
  expect(logText(lines, '')).toBe('02:00:01 synapse  line 1\n02:00:02 edge     line 2')
  expect(logText(lines, 'EDGE')).toBe('02:00:02 edge     line 2')
  expect(logText(lines, 'line 1')).toBe('02:00:01 synapse  line 1')
})

test('the end of a stream is said, the lines stay, and new lines take the note away', () => {
  const before = withMessage(noLogs, message(line(1)))
  const ended = withMessage(before, { lines: [], leftOut: false, end: { code: 'HOST_OFFLINE', message: 'Host host-1 is away.' } })
  expect(ended).toEqual({ lines: before.lines, note: 'Host host-1 is away.' })
  expect(withMessage(ended, message(line(2)))).toEqual({ lines: [line(1), line(2)], note: undefined })
  expect(withMessage(ended, { ...message(line(2)), leftOut: true }).note).toMatch(/left out/)
})

test('a service that does not run shows its exit code and no numbers', () => {
  const running = { service: 'minio', image: 'minio:1', state: 'running', exitCode: null, startedAt: '', restarts: 0 } as const
  const used = { ...running, cpuPercent: 12.34, memoryBytes: 96e6, memoryLimitBytes: 8e9 }
  const exited = { ...used, state: 'exited', exitCode: 137, cpuPercent: null, memoryBytes: null } as const
  expect([stateText(used), cpuText(used), memoryText(used)]).toEqual(['running', '12.3 %', '96.0 MB of 8.0 GB'])
  expect([stateText(exited), cpuText(exited), memoryText(exited)]).toEqual(['exited (137)', '–', '–'])
})
