import { utf8Text } from '../kit/index.ts'
import { type Finding, finding } from './findings.ts'
import { hiddenCharacters } from './hidden-characters.ts'
import { scanCode } from './scan-code.ts'

const codeName = /\.(?:[mc]?[jt]s|[jt]sx)$/
/** Larger code would not fit into the memory of a run, and its syntax tree not into that of the scan. */
const maxCodeBytes = 1_048_576
/** To parse JSON is one step that no limit of the thread ends. */
const maxPackageJsonBytes = 262_144

const lifecycleScripts = /^(?:pre|post)?(?:install|uninstall|prepare|publish|pack)$|^(?:prepublishOnly|dependencies)$/

/** Files that are code or archives by their name or by their first bytes. */
const binaries: readonly (readonly [name: string, pattern: RegExp, magic: readonly string[]])[] = [
  ['native module', /\.(?:node|so|dll|dylib|exe)$/i, ['7f454c46', 'cffaedfe', 'cefaedfe', 'feedface', 'feedfacf', 'cafebabe', '4d5a']],
  ['WebAssembly', /\.wasm$/i, ['0061736d']],
]
const archiveName = /\.(?:zip|jar|asar|tar|t?gz|tgz|bz2|xz|7z|rar|zst|br)$/i
const archiveMagic = ['504b0304', '504b0506', '1f8b', '425a68', 'fd377a585a', '377abcaf271c', '52617221', '28b52ffd']

/** All findings of one file of a package. Its name was checked before. */
export function scanFile(file: string, bytes: Uint8Array): readonly Finding[] {
  const head = Array.from(bytes.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const starts = (magic: readonly string[]) => magic.some((one) => head.startsWith(one))
  const binary = binaries.find(([, pattern, magic]) => pattern.test(file) || starts(magic))
  if (binary) return [finding('binary-code', file, { detail: binary[0] })]
  if (archiveName.test(file) || starts(archiveMagic)) return [finding('archive-nested', file)]
  if (file.endsWith('binding.gyp')) return [finding('package-native', file)]
  return scanText(file, bytes)
}

function scanText(file: string, bytes: Uint8Array): readonly Finding[] {
  const isCode = codeName.test(file)
  const text = decode(bytes)
  if (text === undefined) return isCode ? [finding('not-utf8', file)] : []
  const hidden = hiddenCharacters(file, text, isCode)
  if (/(?:^|\/)package\.json$/.test(file))
    return bytes.length > maxPackageJsonBytes ? [...hidden, packageJsonTooLarge(file)] : [...hidden, ...scanPackageJson(file, text)]
  if (bytes.length > maxCodeBytes) return isCode ? [...hidden, finding('code-too-large', file, { detail: '1 MiB' })] : hidden
  const scanned = scanCode(file, text)
  if (!(scanned instanceof Error)) return [...hidden, ...scanned]
  return isCode ? [...hidden, unparsable(file, scanned)] : hidden
}

/** Undefined for what is not UTF-8 text, such as a picture. */
const decode = (bytes: Uint8Array): string | undefined => (bytes.includes(0) ? undefined : utf8Text(bytes))

function unparsable(file: string, error: Error & { loc?: { line: number; column: number } }): Finding {
  const at = error.loc ? { line: error.loc.line, column: error.loc.column + 1 } : {}
  const reason = error instanceof SyntaxError ? error.message.replace(/ \(\d+:\d+\)$/, '') : 'it is nested too deep'
  return finding('unparsable', file, { detail: reason, ...at })
}

const packageJsonTooLarge = (file: string) => finding('archive-limit', file, { detail: 'package.json has more than 256 KiB' })

function scanPackageJson(file: string, text: string): readonly Finding[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return [finding('package-invalid', file)]
  }
  if (typeof value !== 'object' || value === null) return [finding('package-invalid', file)]
  const { scripts, imports, gypfile, binary } = value as Readonly<Record<string, unknown>>
  const names = typeof scripts === 'object' && scripts !== null ? Object.keys(scripts) : []
  return [
    ...names.filter((name) => lifecycleScripts.test(name)).map((name) => finding('package-script', file, { detail: name })),
    ...(imports === undefined ? [] : [finding('package-imports', file)]),
    ...(gypfile === undefined && binary === undefined ? [] : [finding('package-native', file)]),
  ]
}
