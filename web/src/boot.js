// Runs before the first paint, as a classic script. The keys and values are those of components/theme.ts and
// i18n/index.ts. Storage can be forbidden by the browser; the page then follows the system.
;(function () {
  var root = document.documentElement
  var theme = null
  var lang = null
  try {
    theme = localStorage.getItem('todoku:theme')
    lang = localStorage.getItem('todoku:lang')
  } catch {
    // Nothing is remembered.
  }
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
  if (lang !== 'ja' && lang !== 'en') {
    var first = navigator.languages.find(function (tag) {
      return /^(ja|en)\b/i.test(tag)
    })
    lang = first && /^ja\b/i.test(first) ? 'ja' : 'en'
  }
  root.lang = lang
})()
