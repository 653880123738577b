import { type HostResources, isDiskLow } from './host.ts'

/** The free disk space of a host at one moment. A host reports its fullest disk, which may be another one than before: it has another size. */
export type DiskSample = Readonly<{ at: string; freeBytes: number; diskBytes?: number }>

const dayMs = 86_400_000
const sampleEveryMs = 60 * 60_000
const keepMs = 7 * dayMs
/** A shorter time says nothing of the next days. */
const leastSpanMs = 6 * 60 * 60_000

/** Adds a sample an hour after the last one, and drops those older than a week and those of another disk. */
export function withSample(samples: readonly DiskSample[], sample: DiskSample): readonly DiskSample[] {
  const [last, nowMs] = [samples.at(-1), Date.parse(sample.at)]
  const isOfDisk = ({ diskBytes }: DiskSample) => diskBytes === sample.diskBytes
  if (last && isOfDisk(last) && nowMs - Date.parse(last.at) < sampleEveryMs) return samples
  return [...samples.filter((one) => isOfDisk(one) && nowMs - Date.parse(one.at) <= keepMs), sample]
}

/** When the disk is full if it fills as it did in the last week. Undefined while it does not fill, or too little is known. */
export function fullAt(
  samples: readonly DiskSample[],
  { freeDiskBytes }: Pick<HostResources, 'freeDiskBytes'>,
  now: Date,
): Date | undefined {
  const [first] = samples
  if (!first) return undefined
  const spanMs = now.getTime() - Date.parse(first.at)
  const usedBytes = first.freeBytes - freeDiskBytes
  if (spanMs < leastSpanMs || usedBytes <= 0) return undefined
  return new Date(now.getTime() + (freeDiskBytes / usedBytes) * spanMs)
}

/** A little more than what is low, so that an alert does not end and begin again and again. */
const enoughFree = 0.12
/** Time to act on a disk that fills fast; a little more ends an alert, because the forecast moves with each file. */
const soonMs = 2 * dayMs
const laterMs = 3 * dayMs

type Disk = Readonly<{
  resources: Pick<HostResources, 'diskBytes' | 'freeDiskBytes'>
  fullAt: Date | undefined
  now: Date
  isAlerted: boolean
}>

export function isDiskShort({ resources, fullAt, now, isAlerted }: Disk): boolean {
  if (isAlerted ? resources.freeDiskBytes < resources.diskBytes * enoughFree : isDiskLow(resources)) return true
  return fullAt !== undefined && fullAt.getTime() - now.getTime() < (isAlerted ? laterMs : soonMs)
}

/** The disk is full within a day, or hardly anything of it is free: what is done tomorrow may come too late. */
export function isDiskUrgent({ resources: { diskBytes, freeDiskBytes }, fullAt, now, isAlerted }: Disk): boolean {
  if (freeDiskBytes < diskBytes * (isAlerted ? 0.03 : 0.02)) return true
  return fullAt !== undefined && fullAt.getTime() - now.getTime() < dayMs * (isAlerted ? 1.5 : 1)
}
