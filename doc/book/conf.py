# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx's configuration of the book. build.py passes the values that depend on the build as environment variables."""
import logging
import os
import time

project = 'Gantry'
author = 'The Gantry Authors'
copyright = 'The Gantry Authors, BSD-3-Clause'  # pylint: disable=redefined-builtin
version = release = os.environ['GANTRY_VERSION']
today = time.strftime('%Y-%m-%d', time.gmtime(int(os.environ.get('SOURCE_DATE_EPOCH', time.time()))))
extensions = ['myst_parser', 'breathe']
myst_heading_anchors = 4
myst_enable_extensions = ['deflist']
# Links to addresses with a scheme lead out of the book. Any other link must lead to a page of the book.
myst_url_schemes = ('http', 'https')
breathe_projects = {'gantry': os.environ['GANTRY_XML']}
breathe_default_project = 'gantry'
breathe_domain_by_extension = {'h': 'c'}
breathe_show_include = False
c_id_attributes = ['GANTRY_API', 'GANTRY_EXPERIMENTAL', 'HWQ_API', 'SOFTHCA_API', 'HWQ_INLINE']
c_paren_attributes = ['__attribute__', 'static_assert']
c_extra_keywords = []
# The code blocks without a language are commands, output and pictures.
highlight_language = 'none'
html_theme = 'alabaster'
html_theme_options = {
    'page_width': '72rem', 'sidebar_width': '17rem', 'fixed_sidebar': True, 'show_powered_by': False,
    'font_family': 'system-ui, "DejaVu Sans", sans-serif', 'head_font_family': 'system-ui, "DejaVu Sans", sans-serif',
    'font_size': '16px', 'description': 'a poll-mode engine for mlx5 adapters, and an emulated adapter',
}
html_static_path = [path for path in [os.environ.get('GANTRY_STATIC')] if path]
html_css_files = ['book.css']
html_sidebars = {'**': ['about.html', 'searchbox.html', 'navigation.html']}
html_show_sourcelink = False
html_copy_source = False
man_pages = [
    ('man/' + name, name, text, [], int(section)) for name, section, text in
    (row.split('|') for row in os.environ.get('GANTRY_MAN', '').split('\n') if row)
]
man_show_urls = False
exclude_patterns = ['_static']


def other_name_space(record):
    """False for the warning about a struct and a function of one name. In C they are in different name spaces; Sphinx knows one."""
    return 'Duplicate C declaration' not in str(record.msg)


logging.getLogger('sphinx.sphinx.domains.c').addFilter(other_name_space)
