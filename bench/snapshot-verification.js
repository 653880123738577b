import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { sha256Hex } from '../dist/core/kit/index.js'
import { systemRandom } from '../dist/node/index.js'
import { verifySnapshot } from '../dist/node/restic/index.js'
import { sized } from './size.js'

const rounds = sized(3, 1)
/** Thumbnails, each in a folder of its own as Synapse stores them, and photos. */
const [thumbnails, photos, dumpBytes] = sized([4_000, 300, 300_000_000], [20, 5, 1_000_000])
const most = 0.25
const what = 'verification of a new snapshot against the backup that made it'
const reach = `at most ${most}×`

const testbedFile = join(process.env.TENANTRY_TESTBED_CACHE ?? '/var/cache/tenantry-testbed', 'testbed.json')

/**
 * A snapshot of a box whose media are in the store already and whose dump is new, as before each update, in a repository with ten older ones. A box waits
 * fenced for both, so their ratio is what the verification adds to the time of the backup.
 */
export async function snapshotVerification() {
  if (!existsSync(testbedFile)) return [{ what, measured: 'no test bed', reach, ok: undefined }]
  const { restic: program } = JSON.parse(readFileSync(testbedFile, 'utf8'))
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-bench-'))
  try {
    const [media, dump, cacheFolder, at] = ['media', 'dump', 'cache', 'repository'].map((name) => join(folder, name))
    const repository = { repository: `file:${at}`, password: 'a key', env: {} }
    const restic = (...args) => execa(program, ['-r', at, '--cache-dir', cacheFolder, ...args], { input: 'a key\n' })
    fill(media)
    mkdirSync(dump)
    const [manifest, database] = ['manifest.json', 'database.dump'].map((name) => join(dump, name))
    const backUp = async (number, bytes) => {
      writeFileSync(manifest, `{"number":${number}}\n`)
      writeFileSync(database, systemRandom.bytes(bytes))
      const [ms, { stdout }] = await timed(() => restic('backup', '--json', '--host', 'tenantry', media, dump))
      return { ms, id: JSON.parse(stdout.split('\n').at(-1)).snapshot_id }
    }
    await restic('init')
    for (let number = 0; number < 10; number++) await backUp(number, 1_000_000)
    const ratios = []
    for (let round = 0; round < rounds; round++) {
      const { ms, id } = await backUp(10 + round, dumpBytes)
      const sample = { path: manifest, sha256: sha256Hex(readFileSync(manifest, 'utf8')) }
      const [verifiedMs] = await timed(() => verifySnapshot({ program, cacheFolder }, repository, { id, commandId: 'bench', sample }))
      ratios.push(verifiedMs / ms)
    }
    const ratio = ratios.sort((a, b) => a - b)[Math.floor(rounds / 2)]
    return [{ what, measured: `${ratio.toFixed(2)}×`, reach, ok: ratio <= most }]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function fill(media) {
  for (let at = 0; at < thumbnails; at++) {
    const folder = join(media, String(at % 64), String(at))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'thumbnail'), systemRandom.bytes(10_000))
  }
  for (let at = 0; at < photos; at++) writeFileSync(join(media, `photo-${at}`), systemRandom.bytes(2_000_000))
}

async function timed(work) {
  const begun = performance.now()
  const result = await work()
  return [performance.now() - begun, result]
}
