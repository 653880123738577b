import type { PullProgress } from '../ports/index.ts'

/** One line of the engine's report of a pull. */
export type PullLine = Readonly<{
  status?: string
  id?: string
  error?: string
  progressDetail?: Readonly<{ current?: number; total?: number }>
}>

/** Downloading is most of the time of a layer, unpacking the rest. */
const downloadShare = 0.7

/** Makes one percentage of the layers' own; it never goes back. */
export function pullProgress() {
  const layers = new Map<string, number>()
  let digest: string | undefined
  let highest = 0
  const take = (line: PullLine): PullProgress | undefined => {
    digest = /^Digest: (sha256:[0-9a-f]{64})/.exec(line.status ?? '')?.[1] ?? digest
    if (line.id === undefined || !/^[0-9a-f]{12}$/.test(line.id)) return undefined
    layers.set(line.id, Math.max(layers.get(line.id) ?? 0, shareOf(line)))
    const done = [...layers.values()].filter((share) => share === 1).length
    const percent = Math.round((100 * [...layers.values()].reduce((sum, share) => sum + share, 0)) / layers.size)
    if (percent <= highest) return undefined
    highest = percent
    return { percent, detail: `${done} of ${layers.size} layers` }
  }
  return { take, digest: () => digest }
}

function shareOf({ status = '', progressDetail }: PullLine): number {
  const part = progressDetail?.total ? (progressDetail.current ?? 0) / progressDetail.total : 0
  if (/^(Pull complete|Already exists)/.test(status)) return 1
  if (/^Extracting/.test(status)) return downloadShare + (1 - downloadShare) * Math.min(part, 0.99)
  if (/^(Download complete|Verifying)/.test(status)) return downloadShare
  return /^Downloading/.test(status) ? downloadShare * part : 0
}
