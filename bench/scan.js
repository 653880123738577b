import { readFileSync } from 'node:fs'
import { scanInProcess, zipOf } from '../dist/node/module-package/index.js'
import { sized } from './size.js'

// A package with 50 MB of code in small files, scanned in a process of its own.

const totalBytes = sized(50e6, 1e6)
const fileBytes = 50_000
const maxSeconds = 30
const maxMegabytes = 500

/** Code as people write it: functions, objects, texts and comments, each a little different. */
function codeOf(file) {
  const parts = []
  for (let n = 0, bytes = 0; bytes < fileBytes; n++) {
    const part = `// step ${n} of file ${file}
export function step${n}(input, { limit = ${n}, names = ['a${n}', 'b${file}'] } = {}) {
  const found = input.filter(({ name, count }) => names.includes(name) && count > limit)
  for (const one of found) if (one.count % ${n + 2} === 0) return { ...one, text: \`step \${one.name} ${n * file}\` }
  return found.length > ${n} ? found[0] : null
}
`
    parts.push(part)
    bytes += part.length
  }
  return parts.join('')
}

const ticksPerSecond = 100

/** CPU time and peak memory so far of the child process; undefined when there is none. */
function useOfChild() {
  try {
    const child = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ')[0]
    const times = readFileSync(`/proc/${child}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1]
    return { seconds: (Number(times[11]) + Number(times[12])) / ticksPerSecond, megabytes: (Number(peak) * 1024) / 1e6 }
  } catch {
    return undefined
  }
}

/** CPU time and memory of the scan of a large package. */
export async function scan() {
  const files = Array.from({ length: totalBytes / fileBytes }, (_, n) => ({ name: `lib/f${n}.js`, bytes: Buffer.from(codeOf(n)) }))
  files.push({ name: 'module.json', bytes: Buffer.from('{"type":"A"}') }, { name: 'index.js', bytes: Buffer.from('export const on = {}') })
  const zip = await zipOf(files)
  files.length = 0
  let used = { seconds: 0, megabytes: 0 }
  let longestPause = 0
  let last = performance.now()
  const timer = setInterval(() => {
    used = useOfChild() ?? used
    longestPause = Math.max(longestPause, performance.now() - last)
    last = performance.now()
  }, 20)
  const report = await scanInProcess(zip, { timeoutMs: 300_000 })
  clearInterval(timer)
  if (!report.ok) throw new Error(`the scan found ${JSON.stringify(report.violations[0])}`)
  const { seconds, megabytes } = used
  return [
    {
      what: `scan of a package with ${Math.round(report.bytes / 1e6)} MB of code, CPU time`,
      measured: `${seconds.toFixed(1)} s (longest pause ${Math.round(longestPause)} ms)`,
      reach: `under ${maxSeconds} s`,
      ok: seconds < maxSeconds,
    },
    {
      what: 'memory of the process of that scan at its peak, package included',
      measured: `${Math.round(megabytes)} MB`,
      reach: `under ${maxMegabytes} MB`,
      ok: megabytes < maxMegabytes,
    },
  ]
}
