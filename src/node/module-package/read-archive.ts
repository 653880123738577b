import { createHash } from 'node:crypto'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import { maxPackageBytes } from '../../core/modules/index.ts'
import { type Finding, finding } from '../../core/scan/index.ts'

/** Limits of a package: the zip, its content, one file, the number of files, and the ratio of compression. */
export const packageLimits = { zipBytes: maxPackageBytes, contentBytes: 200e6, fileBytes: maxPackageBytes, files: 5000, ratio: 100 }

/** A small file may compress well without being a bomb. */
const ratioFromBytes = 1e6

export type PackageFile = Readonly<{ name: string; bytes: Buffer }>
/** `sha256`: of the content, in hex. */
export type ReadFile = PackageFile & Readonly<{ sha256: string }>
export type Archive = Readonly<{ files: number; bytes: number; findings: readonly Finding[] }>

/**
 * Reads a zip file by file and calls `visit` with each file that passes the rules of archives. A fault that makes the rest unsafe to read ends
 * it. Never blocks the thread for more than a few milliseconds.
 */
export async function readArchive(zip: Buffer, visit: (file: ReadFile) => void | Promise<void>): Promise<Archive> {
  const found: Finding[] = []
  const seen = { files: 0, bytes: 0 }
  const end = (): Archive => ({ ...seen, findings: found })
  if (zip.length > packageLimits.zipBytes)
    return { ...end(), findings: [finding('archive-limit', '', { detail: 'the zip has more than 50 MB' })] }
  try {
    const archive = await fromBufferPromise(zip, { lazyEntries: true, strictFileNames: true, validateEntrySizes: true })
    if (archive.entryCount > packageLimits.files)
      return { ...end(), findings: [finding('archive-limit', '', { detail: `more than ${packageLimits.files} files` })] }
    const names = new Names()
    for await (const entry of archive.eachEntry()) {
      const name = entry.fileName.slice(0, 300)
      const fault = nameFault(entry) ?? names.fault(name) ?? limitFault(entry, zip.length, seen.bytes)
      if (fault) found.push(fault)
      if (fault?.rule === 'archive-limit') return end()
      if (fault || name.endsWith('/')) continue
      const { bytes, checksum, sha256 } = await contentOf(partsOf({ archive, zip, entry }), entry.uncompressedSize)
      // The library reads the checksum and compares it with nothing.
      if (checksum !== entry.crc32) throw new Error(`${shown(name)} has another checksum than the zip states`)
      seen.files++
      seen.bytes += bytes.length
      await visit({ name, bytes, sha256 })
    }
  } catch (error) {
    found.push(finding('archive-unreadable', '', { detail: (error as Error).message.slice(0, 200) }))
  }
  return end()
}

const sliceBytes = 1_000_000
const stored = 0

/** yauzl reads a file that is not compressed at once, which takes 70 ms for 50 MB. It compares the sizes of any file with those of its entry. */
async function* partsOf({ archive, zip, entry }: Readonly<{ archive: ZipFile; zip: Buffer; entry: Entry }>): AsyncGenerator<Buffer> {
  if (entry.compressionMethod !== stored) return yield* await archive.openReadStreamPromise(entry)
  const { fileDataStart } = await archive.readLocalFileHeaderPromise(entry, { minimal: true })
  const end = fileDataStart + entry.compressedSize
  for (let at = fileDataStart; at < end; at += sliceBytes) {
    yield zip.subarray(at, Math.min(at + sliceBytes, end))
    await yieldToEventLoop()
  }
}

async function contentOf(parts: AsyncIterable<Buffer>, size: number) {
  const bytes = Buffer.allocUnsafe(size)
  const hash = createHash('sha256')
  let [at, checksum] = [0, 0]
  for await (const part of parts) {
    at += part.copy(bytes, at)
    checksum = crc32(part, checksum)
    hash.update(part)
  }
  return { bytes, checksum, sha256: hash.digest('hex') }
}

const part = '[A-Za-z0-9_@-][A-Za-z0-9_@.+ ()-]*'
const allowedName = new RegExp(`^(?:${part}/)*(?:${part})?$`)
const isAllowed = (name: string): boolean => name.length <= 200 && allowedName.test(name) && !/[. ](?:\/|$)/.test(name)

/** Stored and deflate. */
const readMethods: readonly number[] = [0, 8]
/** Section 4.4.5 of the specification of zip. */
const otherMethods: Readonly<Record<number, string>> = { 9: 'deflate64', 12: 'bzip2', 14: 'LZMA', 93: 'Zstandard', 95: 'XZ', 98: 'PPMd' }
const methodOf = ({ compressionMethod }: Entry): string => otherMethods[compressionMethod] ?? `method ${compressionMethod}`

function nameFault(entry: Entry): Finding | undefined {
  const name = shown(entry.fileName)
  if (entry.isEncrypted()) return finding('archive-encrypted', name)
  if (!readMethods.includes(entry.compressionMethod)) return finding('archive-compression', name, { detail: methodOf(entry) })
  const kind = (entry.externalFileAttributes >>> 16) & 0o170000
  if (![0, 0o100000, 0o040000].includes(kind)) return finding('archive-link', name)
  return isAllowed(entry.fileName) ? undefined : finding('archive-name', name)
}

const shown = (name: string) => name.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)

function limitFault({ fileName, uncompressedSize, compressedSize }: Entry, zipBytes: number, readBytes: number): Finding | undefined {
  const { contentBytes, fileBytes, ratio } = packageLimits
  const total = readBytes + uncompressedSize
  if (uncompressedSize > fileBytes) return finding('archive-limit', fileName, { detail: 'the file has more than 50 MB' })
  if (total > contentBytes) return finding('archive-limit', fileName, { detail: 'the content has more than 200 MB' })
  const isBomb = (bytes: number, compressed: number) => bytes > ratioFromBytes && bytes > ratio * compressed
  if (isBomb(uncompressedSize, compressedSize) || isBomb(total, zipBytes))
    return finding('archive-limit', fileName, { detail: `compressed more than ${ratio} times` })
  return undefined
}

/** Names that were read, in lower case: two names of one file on some systems are refused, and a file that is also a folder. */
class Names {
  private readonly files = new Map<string, string>()
  private readonly folders = new Set<string>()

  fault(name: string): Finding | undefined {
    const lower = name.toLowerCase()
    const parts = lower.split('/')
    const parents = parts.slice(0, -1).map((_, at) => parts.slice(0, at + 1).join('/'))
    const other = this.files.get(lower) ?? parents.find((parent) => this.files.has(parent))
    if (other !== undefined) return finding('archive-duplicate', name, { detail: other })
    for (const parent of parents) this.folders.add(parent)
    if (name.endsWith('/')) return undefined
    if (this.folders.has(lower)) return finding('archive-duplicate', name, { detail: `${name}/` })
    this.files.set(lower, name)
    return undefined
  }
}
