type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

const passed = /^(?:etag|x-module-[a-z0-9-]{1,40})$/
/** A line break in a value would begin a header of the module's own. */
const isPlain = (value: string): boolean => /^[\x20-\x7e]*$/.test(value)
/** Types that a browser shows and cannot run. SVG is a document with scripts. */
const shown = /^(?:application\/json|text\/plain|text\/csv|image\/(?!svg)[a-z0-9.+-]{1,40})(?:;\s*charset="?[a-z0-9-]{1,40}"?)?$/i

/** An answer is for its caller alone: no cache between stores it, whatever the module asks for. */
function cacheControl(value: unknown): string {
  const parts = typeof value === 'string' ? value.toLowerCase().split(/\s*,\s*/) : []
  const ours = parts.filter((part) => /^(?:no-cache|must-revalidate|immutable|max-age=[0-9]{1,9})$/.test(part))
  return ours.length === 0 || parts.includes('no-store') ? 'no-store' : ['private', ...ours].join(', ')
}

/**
 * The headers of a module's answer that reach the caller; all else is dropped, also the framing, which is that of the sender. Nothing of it runs as a page of this origin: other types are
 * downloads, and every answer has a policy that runs nothing.
 */
export function answerHeaders(incoming: Headers): Record<string, string> {
  const entries = Object.entries(incoming).flatMap(([name, value]) =>
    typeof value === 'string' && passed.test(name) && isPlain(value) ? [[name, value] as const] : [],
  )
  const type = typeof incoming['content-type'] === 'string' ? incoming['content-type'] : undefined
  const isShown = type === undefined || shown.test(type)
  return {
    ...Object.fromEntries(entries),
    'cache-control': cacheControl(incoming['cache-control']),
    ...(type === undefined ? {} : { 'content-type': isShown ? type : 'application/octet-stream' }),
    ...(isShown ? {} : { 'content-disposition': 'attachment' }),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
  }
}
