import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { notUtf8, problem, utf8Text } from '../../core/kit/index.ts'
import { type ModuleManifest, manifestFile, readModuleManifest, readSamples, type Samples, samplesFile } from '../../core/modules/index.ts'
import type { PackageFile } from './read-archive.ts'

/** A module ready to run: its manifest, samples, and code by path. */
export type LoadedModule = Readonly<{ manifest: ModuleManifest; samples: Samples; files: Readonly<Record<string, string>> }>

/** Reads the files of a module. Throws MODULE_INVALID. */
export async function loadModule(files: readonly PackageFile[]): Promise<LoadedModule> {
  const textOf = (name: string) => {
    const file = files.find((one) => one.name === name)
    return file && moduleText(file)
  }
  const text = textOf(manifestFile)
  if (text === undefined) throw problem('MODULE_INVALID', `There is no ${manifestFile} here. fix: tenantry modules init <dir>`)
  const manifest = readModuleManifest(text)
  const code: [string, string][] = []
  for (const file of files) if (/\.m?js$/.test(file.name)) code.push([file.name, await codeText(file)])
  return { manifest, samples: readSamples(textOf(samplesFile), manifest), files: Object.fromEntries(code) }
}

const sliceBytes = 1_000_000

/** To decode 20 MB at once takes up to 200 ms. Throws as `moduleText`. */
async function codeText(file: PackageFile): Promise<string> {
  const { bytes } = file
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  try {
    for (let at = 0; at < bytes.length; at += sliceBytes) {
      text += decoder.decode(bytes.subarray(at, at + sliceBytes), { stream: true })
      await yieldToEventLoop()
    }
    return text + decoder.decode()
  } catch {
    return moduleText(file)
  }
}

/** Throws MODULE_INVALID for a file that is not UTF-8. */
export function moduleText({ name, bytes }: PackageFile): string {
  const text = utf8Text(bytes)
  if (text === undefined) throw problem('MODULE_INVALID', `${name}: ${notUtf8(bytes)}`)
  return text
}
