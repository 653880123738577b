type Page = Readonly<{ title?: string; language?: string; direction?: 'ltr' | 'rtl' }>

/** A page for a person with a link, `body` escaped. No script and nothing from elsewhere. */
export const htmlPage = (body: string, { title = 'Tenantry', language = 'en', direction = 'ltr' }: Page = {}): string =>
  `<!doctype html><html lang="${language}"${direction === 'rtl' ? ' dir="rtl"' : ''}><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<link rel="stylesheet" href="/docs/style.css"></head><body><main>
${body}
</main></body></html>
`
