/**
 * xterm.js under a Content-Security-Policy without 'unsafe-inline': its <style> elements become constructed style sheets,
 * and its style attributes go through the object model. The policy touches neither.
 */

/** Stands where a <style> would; its text is a style sheet of the document. */
function styleElement(): HTMLElement {
  const element = document.createElement('span')
  element.hidden = true
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets.push(sheet)
  Object.defineProperty(element, 'textContent', {
    set: (css: string) => {
      sheet.replaceSync(css)
    },
  })
  const remove = element.remove.bind(element)
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet)
    remove()
  }
  return element
}

function create(name: string, options?: ElementCreationOptions): HTMLElement {
  if (name === 'style') return styleElement()
  const element = Document.prototype.createElement.call(document, name, options)
  if (name === 'span') {
    const setAttribute = element.setAttribute.bind(element)
    element.setAttribute = (attribute, value) => {
      if (attribute === 'style') element.style.cssText = value
      else setAttribute(attribute, value)
    }
  }
  return element
}

/**
 * Makes elements so from now on, for xterm.js asks the page's own document; what is called ends it. Whoever else makes
 * an element meanwhile gets what they would have got, only that the policy blocks none of it.
 */
export function makeElementsStrict(): () => void {
  const own = document as { createElement?: typeof create }
  own.createElement = create
  return () => {
    delete own.createElement
  }
}
