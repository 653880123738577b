import { utf8Text } from '../../core/kit/index.ts'
import { type Finding, finding, loadScan } from '../../core/scan/index.ts'
import { nativeSha256Hex } from '../random.ts'
import { readArchive } from './read-archive.ts'

type ScannedFile = Readonly<{ name: string; bytes: number; sha256: string }>

/** The result of a scan. It is `ok` without a violation. */
export type ScanReport = Readonly<{
  ok: boolean
  violations: readonly Finding[]
  files: readonly ScannedFile[]
  bytes: number
  /** SHA-256 of the zip, in hex. */
  checksum: string
  /** The text of `module.json`, unchecked; null if there is none. */
  manifest: string | null
}>

/** A reviewer needs no more; a package could have millions. */
const maxViolations = 200
const manifestName = 'module.json'
const maxManifestBytes = 262_144

/** Scans a package. Takes seconds of CPU for a large one: servers use `scanInProcess`. */
export async function scanPackage(zip: Buffer): Promise<ScanReport> {
  const scanFile = await loadScan()
  const found: Finding[] = []
  const files: ScannedFile[] = []
  let manifest: string | null = null
  let unread: Finding | undefined = finding('manifest-missing', manifestName)
  const { findings, bytes } = await readArchive(zip, (file) => {
    files.push({ name: file.name, bytes: file.bytes.length, sha256: file.sha256 })
    if (file.name === manifestName && file.bytes.length <= maxManifestBytes) {
      manifest = utf8Text(file.bytes) ?? null
      unread = manifest === null ? finding('not-utf8', manifestName) : undefined
    }
    if (found.length < maxViolations) found.push(...scanFile(file.name, file.bytes))
  })
  const missing = [...(unread ? [unread] : []), ...mainMissing(manifest, files)]
  const violations = [...findings, ...missing, ...found].slice(0, maxViolations)
  return { ok: violations.length === 0, violations, files, bytes, checksum: nativeSha256Hex(zip), manifest }
}

/** Only what a scan can know: whether the rest of the manifest is valid is decided elsewhere. */
function mainMissing(manifest: string | null, files: readonly ScannedFile[]): readonly Finding[] {
  try {
    const { type, main = 'index.js' } = JSON.parse(manifest ?? '')
    return type !== 'A' || files.some(({ name }) => name === main)
      ? []
      : [finding('main-missing', manifestName, { detail: String(main).slice(0, 200) })]
  } catch {
    return []
  }
}
